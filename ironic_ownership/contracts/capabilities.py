"""Guarantees that a membership backend declares and the host relies on."""

from __future__ import annotations

import enum


class Capability(enum.Enum):
    """One guarantee; a backend lists those it gives in ``capabilities``.

    :cvar SHARED: processes on several machines see the same members. Without
        it the backend is for one process or one machine only.
    :cvar PERSISTENT: members survive a restart of the store.
    :cvar STORE_CLOCK: expiry is evaluated by the clock of the store, never by
        a member's.
    :cvar WATCH: the store notifies of changes, see
        ``MembershipBackend.watch``; without it the host polls at an interval.
    """

    SHARED = 'shared'

    PERSISTENT = 'persistent'

    STORE_CLOCK = 'store_clock'

    WATCH = 'watch'
