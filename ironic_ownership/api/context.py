"""Request context: the objects of the wiring, shared by threads.

A client of Ironic is used by one thread at a time, so clients are pooled.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ironic_ownership.contracts import inventory, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.ports import (
    Moves,
    NodeImports,
    Ports,
    Records,
    Removals,
    Reservations,
)

if TYPE_CHECKING:
    from ironic_ownership.api.background import BackgroundWork
    from ironic_ownership.api.metrics_cache import Gauges
    from ironic_ownership.engine.deletion.missing_nodes import Limits
    from ironic_ownership.engine.queries import deployment_snapshot
    from ironic_ownership.engine.reservations.reserver import Reserver
    from ironic_ownership.wiring import Wiring


class RequestContext:
    """The objects that handlers use, for any number of threads.

    :param interpret: reads the settings that members advertise.
    :param metrics_interval: seconds for which metrics are cached.
    :param request_id: sent to Ironic; for the context of one request only.
    """

    def __init__(
        self,
        wired: Wiring,
        interpret: policy_set.Interpreter,
        metrics_interval: float = 0.0,
        request_id: str | None = None,
    ) -> None:
        self.wired = wired
        self.interpret = interpret
        self._metrics_interval = metrics_interval
        self._request_id = request_id
        self._building = threading.RLock()
        self._idle: queue.SimpleQueue[inventory.Inventory] = (
            queue.SimpleQueue()
        )

    @property
    def records(self) -> Records:
        """The records, with a schema.

        :raises RecordsError: if the database can't be used.
        """
        with self._building:
            return self.wired.ready_records()

    @property
    def moves(self) -> Moves:
        """The moves in the same database."""
        with self._building:
            return self.wired.ready_moves()

    @property
    def removals(self) -> Removals:
        """The deletions by operators, in the same database."""
        with self._building:
            return self.wired.ready_removals()

    @property
    def node_imports(self) -> NodeImports:
        """The imports by operators, in the same database."""
        with self._building:
            return self.wired.ready_node_imports()

    @property
    def reservations(self) -> Reservations:
        """The reservations in the same database."""
        with self._building:
            return self.wired.ready_reservations()

    @functools.cached_property
    def _reserver(self) -> Reserver:
        return self.wired.reserver(self._request_id)

    @property
    def reserver(self) -> Reserver:
        """The reserver; concurrent requests share its reads of Ironic.

        :raises OwnershipError: if the database or Ironic can't be used.
        """
        with self._building:
            return self._reserver

    @functools.cached_property
    def _gauges(self) -> Gauges:
        from ironic_ownership.api import metrics_cache

        return metrics_cache.Gauges(
            self.overview, self.interpret, self._metrics_interval
        )

    @property
    def gauges(self) -> Gauges:
        """The cached metrics."""
        with self._building:
            return self._gauges

    @functools.cached_property
    def _background(self) -> BackgroundWork:
        from ironic_ownership.api import background

        return background.BackgroundWork()

    @property
    def background(self) -> BackgroundWork:
        """The threads for long operations."""
        with self._building:
            return self._background

    @property
    def backend(self) -> MembershipBackend:
        """The membership."""
        with self._building:
            return self.wired.backend

    @property
    def reports_inventory(self) -> bool:
        """Tell whether nodes are reported to Placement.

        :raises ConfigurationError: if its options can't work.
        """
        with self._building:
            return self.wired.reports_inventory

    @property
    def scope(self) -> model.Scope:
        """The scope of the configured policies."""
        with self._building:
            return self.wired.scope

    @property
    def limits(self) -> Limits:
        """The configured limits of a plausible loss of nodes."""
        with self._building:
            return self.wired.limits

    @property
    def sharded(self) -> bool:
        """Tell whether nodes may be listed by shard only: law 4."""
        return self.scope.shard is not None

    @property
    def permission(self) -> float:
        """Seconds after which a permission that is not confirmed has ended."""
        with self._building:
            return self.wired.permission

    @contextlib.contextmanager
    def ports(self) -> Iterator[Ports]:
        """Lend records, a client of Ironic, and the membership."""
        with self._inventory() as source:
            yield Ports(self.records, source, self.backend, self.interpret)

    def ports_of(self, request_id: str) -> Ports:
        """Return ports whose client sends the request id to Ironic."""
        with self._building:
            source = self.wired.inventory_of(request_id)
        return Ports(self.records, source, self.backend, self.interpret)

    def placement_of(self, request_id: str) -> Placement | None:
        """Return a client that sends the request id to Placement.

        :returns: ``None`` where the deployment does not use Placement.
        """
        with self._building:
            return self.wired.placement_of(request_id)

    def overview(
        self, *, complete: bool = True, placement: bool = False
    ) -> deployment_snapshot.DeploymentSnapshot:
        """Read the whole deployment, as far as it answers.

        :param complete: read open reservations and the rows of a companion
            too, of which there may be one for each node.
        :param placement: read Placement next to a companion, too.
        """
        from ironic_ownership.engine.queries import deployment_snapshot

        with contextlib.ExitStack() as lent:
            return deployment_snapshot.read(
                deployment_snapshot.Sources(
                    lambda: self.records,
                    lambda: lent.enter_context(self._inventory()),
                    lambda: self.backend,
                    (lambda: self.reservations) if complete else None,
                    lambda: self.wired.companion if complete else None,
                    functools.partial(
                        policy_set.prepare, interpret=self.interpret
                    ),
                    lambda: self.wired.placement_of() if placement else None,
                ),
                sharded=self.sharded,
            )

    @contextlib.contextmanager
    def _inventory(self) -> Iterator[inventory.Inventory]:
        try:
            lent = self._idle.get_nowait()
        except queue.Empty:
            with self._building:
                lent = self.wired.inventory_of(self._request_id)
        try:
            yield lent
        finally:
            self._idle.put(lent)
