"""A host process whose fence is broken on purpose, to test the law checker.

It beats no more after it joined, and never finds out: it goes on seeing the
members of its first look, and writing with the right of its registration.
With ``EPOCHS=ignored`` its database connection lets it, with any epoch.
To be run instead of the host's program.
"""

from __future__ import annotations

import os
import sys

from ironic_ownership.backends import db
from ironic_ownership.cmd import host
from ironic_ownership.contracts import model
from ironic_ownership.db import change_transaction
from ironic_ownership.engine.host import refresh
from ironic_ownership.engine.membership import fence, local_member

VARIABLE = 'EPOCHS'
IGNORED = 'ignored'


def _break_fence() -> None:
    extend = fence.Fence.extend

    def extend_for_ever(
        self: fence.Fence, beat_started: float, epoch: int
    ) -> None:
        if not self.may_act:
            extend(self, beat_started + 1e9, epoch)

    fence.Fence.extend = extend_for_ever  # type: ignore[method-assign]
    fence.Fence.drop = _nothing  # type: ignore[method-assign]
    local_member.Membership.lose_epoch = _nothing  # type: ignore[method-assign]
    local_member.Membership._is_superseded = _never  # type: ignore[method-assign]
    _be_blind()


def _be_blind() -> None:
    view = db.DatabaseBackend.view
    seen: list[model.View] = []

    def first_view(self: db.DatabaseBackend) -> model.View:
        found = seen[0] if seen else view(self)
        if not seen and found.members:
            seen.append(found)
        return found

    db.DatabaseBackend.view = first_view  # type: ignore[method-assign]
    db.DatabaseBackend.beat = _nothing  # type: ignore[method-assign]


def _ignore_epochs() -> None:
    change_transaction.check_right = _nothing
    refresh._check_right = _nothing


def _never(*args: object) -> bool:
    return False


def _nothing(*args: object, **options: object) -> None:
    pass


if __name__ == '__main__':
    _break_fence()
    if os.environ.get(VARIABLE) == IGNORED:
        _ignore_epochs()
    sys.exit(host.main())
