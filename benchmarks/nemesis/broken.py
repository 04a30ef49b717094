"""Guards that are broken on purpose, to prove that the checker notices.

Applied inside a host process, before its program starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ironic_ownership.db import transaction
from ironic_ownership.engine.host import action_guard, refresh
from ironic_ownership.engine.membership import fence, local_member


def break_fence() -> None:
    """Never let the right to act end, and ignore all epochs."""
    open_fence = fence.Fence.open

    def open_forever(
        self: fence.Fence, beat_started: float, epoch: int
    ) -> None:
        if not self.may_act:
            open_fence(self, beat_started + 1e9, epoch)

    _replace(fence.Fence, 'open', open_forever)
    _replace(fence.Fence, 'extend', _nothing)
    _replace(fence.Fence, 'drop', _nothing)
    _replace(local_member.LocalMember, 'check_epoch', _nothing)
    _replace(transaction, 'check_right', _nothing)
    _replace(refresh, '_check_epoch', _nothing)


class Anything:
    """A permission that never ends."""

    is_valid = True

    def confirm(self) -> None:
        """Renew it, regardless of the records."""


def break_guard() -> None:
    """Allow to act on every node."""
    _replace(
        action_guard.Guard, 'check', lambda self, uuid, **options: Anything()
    )


BREAKAGES: Mapping[str, Callable[[], None]] = {
    'fence': break_fence,
    'guard': break_guard,
}
"""Each breakage by its name."""


def _replace(owner: object, name: str, value: object) -> None:
    if not hasattr(owner, name):
        raise AttributeError(f'{owner} has no {name} to break')
    setattr(owner, name, value)


def _nothing(*args: object, **options: object) -> None:
    pass
