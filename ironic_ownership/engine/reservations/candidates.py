"""Candidates for a request: free nodes in Ironic without an owner.

Concurrent requests share one read of Ironic. Ironic decides which request
gets a node; a request that comes too late reads again.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Collection, MutableMapping, Sequence

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.calls import Clock, monotonic
from ironic_ownership.contracts.reservations import Request
from ironic_ownership.engine import availability
from ironic_ownership.engine.ports import BareMetal, Records
from ironic_ownership.engine.reservations import eligibility, selection

LONGEST_AGE = 5.0
"""Seconds for which a snapshot is used."""

ENOUGH = 250
"""Free nodes of a first read: more than are reserved within the lifetime of
a snapshot, and a fraction of a second for Ironic."""

_Key = tuple[model.Scope, str | None]
_Snapshot = tuple[Sequence[model.Node], availability.Conductors | None]
"""Nodes of one read, and the conductors if Ironic lists them."""


@dataclasses.dataclass
class CandidateFinder:
    """Chooses among free, unowned nodes.

    Threading: any thread. While one thread reads some nodes, others wait for
    it; reads of all nodes are not shared.

    :param ironic_of: returns the client of the thread.
    """

    records: Records
    ironic_of: Callable[[], BareMetal]
    clock: Clock = monotonic

    def __post_init__(self) -> None:
        import cachetools  # not for every command

        self._lock = threading.Lock()
        self._cached: MutableMapping[_Key, _Snapshot] = cachetools.TTLCache(
            math.inf, LONGEST_AGE, self.clock
        )

    def choose(
        self,
        request: Request,
        service: eligibility.EligibleService,
        tried: Collection[str] = (),
    ) -> selection.Choice:
        """Return the candidates, or why there are none.

        That no node fits is concluded only from a new read of all nodes of
        the scope.

        :param tried: uuids of nodes that could not be reserved.
        :raises OwnershipError: if Ironic or the records do not answer.
        """
        scope = service.policies.scope
        snapshot = self._some(scope, request.resource_class)
        choice = self._select(request, service, snapshot, tried)
        if choice.candidates:
            return choice
        snapshot = self._all(scope)
        # Nodes that could not be reserved may be counted with a reason now.
        choice = self._select(request, service, snapshot, ())
        if choice.candidates and tried:
            choice = self._select(request, service, snapshot, tried)
        return choice

    def _select(
        self,
        request: Request,
        service: eligibility.EligibleService,
        snapshot: _Snapshot,
        tried: Collection[str],
    ) -> selection.Choice:
        nodes, conductors = snapshot

        def choose(owned: Collection[str]) -> selection.Choice:
            return selection.choose(
                request,
                nodes,
                lambda node: availability.evaluate(node, conductors).code,
                owned=owned,
                admits=service.policies.admits,
            )

        taken = frozenset(tried)
        choice = choose(taken)
        uuids = [node.uuid for node in choice.candidates]
        if not _owned(self.records.compute_nodes_by_uuid(uuids), service.host):
            return choice
        # Rare: a free node that a service with another policy owns.
        records = self.records.compute_nodes()
        return choose(taken | _owned(records, service.host))

    def _some(
        self, scope: model.Scope, resource_class: str | None
    ) -> _Snapshot:
        """Return some free nodes, which may be out of date.

        :param resource_class: exactly as in Ironic; ``None`` for any.
        """
        with self._lock:
            found = self._cached.get((scope, resource_class))
            if found is None:
                ironic = self.ironic_of()
                nodes = ironic.free(
                    scope, resource_class=resource_class, enough=ENOUGH
                )
                found = nodes, availability.required_conductors(ironic)
                self._cached[scope, resource_class] = found
            return found

    def _all(self, scope: model.Scope) -> _Snapshot:
        """Return every node of the scope as it is now, free or not."""
        ironic = self.ironic_of()
        nodes = ironic.scan(scope)
        return nodes, availability.required_conductors(ironic)

    def without_conductors(self) -> exceptions.IronicUnavailableError | None:
        """Return an error that names the conductors, if none is alive.

        ``None`` also if its conductors can't be read.
        """
        found, _ = availability.read_conductors(self.ironic_of())
        if found is None or not found.all_gone:
            return None
        names = sorted({n for needed in found.dead.values() for n in needed})
        return exceptions.IronicUnavailableError(
            'no conductor of Ironic is alive, so no node can be reserved',
            hint=f'Start a conductor: {texts.listed(names)}'
            if names
            else 'Start a conductor',
        )

    def invalidate(self) -> None:
        """Drop all snapshots."""
        with self._lock:
            self._cached.clear()


def _owned(
    records: Collection[model.ComputeNode], host: str
) -> frozenset[str]:
    return frozenset(
        record.uuid
        for record in records
        if record.host not in (None, host) or record.instance_uuid
    )
