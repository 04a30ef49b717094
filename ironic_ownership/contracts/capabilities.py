"""Guarantees that a membership backend declares and the host relies on."""

from __future__ import annotations

import enum


class Capability(enum.Enum):
    """One guarantee; a backend lists those it gives in ``capabilities``."""

    SHARED = 'shared'
    """Processes on several machines see the same members. Without it the
    backend is for one process or one machine only."""

    PERSISTENT = 'persistent'
    """Members survive a restart of the store."""

    STORE_CLOCK = 'store_clock'
    """Expiry is evaluated by the clock of the store, never by a member's."""

    WATCH = 'watch'
    """The store notifies of changes, see ``MembershipBackend.watch``; without
    it the host polls at an interval."""
