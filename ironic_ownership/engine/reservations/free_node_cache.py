"""Short-lived cache of the free nodes of a scope.

Concurrent requests share one read of Ironic. Ironic decides which request
gets a node; a request that comes too late reads again.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.membership import fence

LONGEST_AGE = 5.0
"""Seconds for which a snapshot is used."""

ENOUGH = 250
"""Free nodes of a first read: more than are reserved within the lifetime of
a snapshot, and a fraction of a second for Ironic."""

_Key = tuple[model.Scope, str | None]


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Nodes of one read, and the conductors if Ironic lists them."""

    nodes: Sequence[model.Node]
    fleet: evaluation.Fleet | None


@dataclasses.dataclass
class FreeNodeCache:
    """Reads of Ironic that all requests of this process share.

    Threading: any thread. While one thread reads some nodes, others wait for
    it; reads of all nodes are not shared.

    :param source_of: returns the own source of each thread.
    """

    source_of: Callable[[], inventory.Inventory]
    longest_age: float = LONGEST_AGE
    clock: fence.Clock = fence.monotonic

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._cached: dict[_Key, tuple[float, Snapshot]] = {}

    def some(self, scope: model.Scope, resource_class: str | None) -> Snapshot:
        """Return some free nodes, which may be out of date.

        :param resource_class: exactly as in Ironic; ``None`` for any.
        :raises IronicError: if Ironic does not answer.
        """
        key = scope, resource_class
        with self._lock:
            now = self.clock()
            self._cached = {
                known: seen
                for known, seen in self._cached.items()
                if now - seen[0] <= self.longest_age
            }
            if key in self._cached:
                return self._cached[key][1]
            source = self.source_of()
            nodes = source.free(
                scope, resource_class=resource_class, enough=ENOUGH
            )
            snapshot = Snapshot(nodes, _fleet(source))
            self._cached[key] = now, snapshot
            return snapshot

    def all(self, scope: model.Scope) -> Snapshot:
        """Return every node of the scope as it is now, free or not.

        :raises IronicError: if Ironic does not answer.
        """
        source = self.source_of()
        return Snapshot(source.scan(scope), _fleet(source))

    def get(self, uuid: str) -> model.Node | None:
        """Return one node as it is now."""
        return self.source_of().get(uuid)

    def without_conductors(self) -> exceptions.IronicUnavailableError | None:
        """Return an error that names the conductors, if none is alive.

        ``None`` also if its conductors can't be read.
        """
        fleet = conductors.read(self.source_of()).fleet
        if fleet is None or not fleet.all_gone:
            return None
        names = sorted({n for needed in fleet.dead.values() for n in needed})
        return exceptions.IronicUnavailableError(
            'no conductor of Ironic is alive, so no node can be reserved',
            hint=f'Start a conductor: {suggestions.listed(names)}'
            if names
            else 'Start a conductor',
        )

    def invalidate(self) -> None:
        """Drop all snapshots."""
        with self._lock:
            self._cached = {}


def _fleet(source: inventory.Inventory) -> evaluation.Fleet | None:
    # Ironic may be too old, or show conductors to administrators only.
    known = conductors.read(source)
    if isinstance(known.error, exceptions.IronicUnavailableError):
        raise known.error
    return known.fleet
