"""Observer of an incident: records which hosts were not allowed to act.

The history records who wrote what, but not that a membership ended. The
observer polls the store itself continuously: a host that is no
member at two looks had no right to write between them, and gets a new one
only by registering.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from ironic_ownership.contracts import exceptions
from tests.functional.support import laws

if TYPE_CHECKING:
    from tests.functional.faults.support.incident import Deployment

_PAUSE = 0.2
"""Seconds between two looks: it shares the machine with those it watches."""


class Unserved:
    """Longest time for which a free node had no service, from several looks.

    A service serves that is a member and has a process at work, even if its
    network or its database fails, as long as its right lasts. A member that
    its store forgot is no service until it has joined again.

    :param ttl: returns the seconds for which services may act while the store
        or the records do not answer.
    :ivar longest: seconds.
    """

    def __init__(self, ttl: Callable[[], float]) -> None:
        self.longest = 0.0
        self._ttl = ttl
        self._since: dict[str, float] = {}
        self._answered: float | None = None

    def see(
        self,
        at: float,
        owners: Mapping[str, str | None],
        members: Collection[str],
    ) -> None:
        """Take the free nodes on record and the members of one look.

        :param at: seconds on any clock.
        :param owners: ``None`` for a node whose owner may not write, or is
            frozen or dead.
        """
        end_of_rights = at if self._answered is None else self._answered
        end_of_rights += self._ttl()
        before, self._since = self._since, {}
        for uuid, owner in owners.items():
            since = before.get(uuid, min(at, end_of_rights))
            self.longest = max(self.longest, at - since)
            if owner not in members:
                self._since[uuid] = since
        self._answered = at


class Witness:
    """Sees which hosts are members, in a thread of its own.

    :ivar patience: seconds for which a host has to be missing before its
        right has lapsed. Zero where the store never forgets a member before
        its time; else the time after which a right ends by itself.
    """

    def __init__(self, deployment: Deployment, patience: float) -> None:
        self._deployment = deployment
        self.patience = patience
        self.unserved = Unserved(deployment.ttl)
        self._missing_since: dict[str, float] = {}
        self._lapses: dict[laws.Lapse, None] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, after the look that is under way."""
        self._stopping.set()
        self._thread.join()

    @property
    def lapses(self) -> list[laws.Lapse]:
        return list(self._lapses)

    def saw_lapse(self, host: str, after: int) -> bool:
        """Tell whether a host was without a right after some event."""
        return any(
            lapse.host == host and lapse.event_id >= after
            for lapse in self.lapses
        )

    def _run(self) -> None:
        while not self._stopping.wait(_PAUSE):
            try:
                self._look()
            except exceptions.OwnershipError:
                # Without a view no host is known to be missing.
                self._missing_since.clear()

    def _look(self) -> None:
        now = time.monotonic()
        names = {host.name for host in self._deployment.hosts}
        before = names.difference(self._deployment.seen_by_witness())
        last = self._deployment.last_event()
        members = self._deployment.seen_by_witness()
        self._missing_since = {
            host: self._missing_since.get(host, now)
            for host in before.difference(members)
        }
        for host, since in self._missing_since.items():
            if now - since >= self.patience:
                self._lapses[laws.Lapse(host, last)] = None
        self.unserved.see(
            time.monotonic(), self._deployment.free_nodes(), members
        )
