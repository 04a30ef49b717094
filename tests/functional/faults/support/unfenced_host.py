"""A host process whose fence is broken on purpose, to test the law checker.

After it joined it sends no heartbeat and does not notice that: it goes on
with the members of its first view, and with the epoch of its registration.
With ``EPOCHS=ignored`` its database connection lets it, with any epoch.
To be run instead of the host's program.
"""

from __future__ import annotations

import os
import sys

from ironic_ownership.backends import db
from ironic_ownership.cmd import host
from ironic_ownership.contracts import model
from ironic_ownership.db import transaction
from ironic_ownership.engine.host import refresh
from ironic_ownership.engine.membership import fence, local_member

VARIABLE = 'EPOCHS'
IGNORED = 'ignored'


def _break_fence() -> None:
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
    _freeze_view()


def _freeze_view() -> None:
    view = db.DatabaseBackend.view
    seen: list[model.View] = []

    def first_view(self: db.DatabaseBackend) -> model.View:
        found = seen[0] if seen else view(self)
        if not seen and found.members:
            seen.append(found)
        return found

    _replace(db.DatabaseBackend, 'view', first_view)
    _replace(db.DatabaseBackend, 'beat', _nothing)


def _ignore_epochs() -> None:
    _replace(transaction, 'check_right', _nothing)
    _replace(refresh, '_check_epoch', _nothing)


def _replace(owner: object, name: str, value: object) -> None:
    """Break one guard, which has to be where it is expected."""
    if not hasattr(owner, name):
        raise AttributeError(f'{owner} has no {name} to break')
    setattr(owner, name, value)


def _nothing(*args: object, **options: object) -> None:
    pass


if __name__ == '__main__':
    _break_fence()
    if os.environ.get(VARIABLE) == IGNORED:
        _ignore_epochs()
    sys.exit(host.main())
