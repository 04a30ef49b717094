"""Members that do not register: hosts that no process serves.

A member that is not the active process on record may be a standby that is
about to register, or an entry that something else has written into the store.
The first needs a known time, so the second keeps a host from being declared
dead for no longer than that. No IO.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership.contracts import model
from ironic_ownership.contracts.clock import Clock


class UnregisteredMembers:
    """Time for which each host has had members of which none registered.

    Threading: any thread.

    :param patience: seconds for which a host may be without a registered
        process: a new one settles for one ``member_ttl``, and then registers.
    """

    def __init__(self, patience: float, clock: Clock) -> None:
        self._patience = patience
        self._clock = clock
        self._since: Mapping[tuple[str, int], float] = {}

    @property
    def awaited(self) -> bool:
        """True if a member may have registered since the last call."""
        now = self._clock()
        return any(now - t < self._patience for t in self._since.values())

    def overdue(
        self, services: Mapping[str, model.Service], view: model.View
    ) -> frozenset[str]:
        """Return the hosts that have been so for too long.

        :param view: with the active process of each host, if it is alive.
        """
        now, before = self._clock(), self._since
        self._since = {
            key: before.get(key, now)
            for member in view.members
            if (row := services.get(member.host)) is None
            or not row.is_served_by(member)
            # Another epoch is a registration or a fence in the meantime.
            for key in [(member.host, row.epoch if row else 0)]
        }
        return frozenset(
            host
            for (host, _), since in self._since.items()
            if now - since >= self._patience
        )
