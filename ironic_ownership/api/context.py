"""Request context: the objects of the wiring, shared by threads.

A client of Ironic is used by one thread at a time, so clients are pooled.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from ironic_ownership.contracts import inventory
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.ports import (
    Ports,
)

if TYPE_CHECKING:
    from ironic_ownership.api.background import BackgroundWork
    from ironic_ownership.api.metrics_cache import Gauges
    from ironic_ownership.engine.queries import deployment_snapshot
    from ironic_ownership.engine.reservations.reserver import Reserver
    from ironic_ownership.wiring import Wiring

T = TypeVar('T')


class _Built(Generic[T]):
    """One thing of the wiring, which one thread at a time builds.

    :param build: errors are those of the wiring.
    """

    def __init__(self, build: Callable[[Wiring], T]) -> None:
        self._build = build

    def __get__(self, context: RequestContext, owner: type) -> T:
        with context.building:
            return self._build(context.wired)


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
        self.building = threading.RLock()
        self._idle: queue.SimpleQueue[inventory.Inventory] = (
            queue.SimpleQueue()
        )

    records = _Built(lambda wired: wired.ready_records())
    """The records, with a schema; the other stores are in their database."""

    moves = _Built(lambda wired: wired.ready_moves())
    removals = _Built(lambda wired: wired.ready_removals())
    node_imports = _Built(lambda wired: wired.ready_node_imports())
    reservations = _Built(lambda wired: wired.ready_reservations())
    backend = _Built(lambda wired: wired.backend)
    reports_inventory = _Built(lambda wired: wired.reports_inventory)
    scope = _Built(lambda wired: wired.scope)
    limits = _Built(lambda wired: wired.limits)
    permission = _Built(lambda wired: wired.permission)

    @functools.cached_property
    def _reserver(self) -> Reserver:
        return self.wired.reserver(self._request_id)

    @property
    def reserver(self) -> Reserver:
        """The reserver; concurrent requests share its reads of Ironic.

        :raises OwnershipError: if the database or Ironic can't be used.
        """
        with self.building:
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
        with self.building:
            return self._gauges

    @functools.cached_property
    def _background(self) -> BackgroundWork:
        from ironic_ownership.api import background

        return background.BackgroundWork()

    @property
    def background(self) -> BackgroundWork:
        """The threads for long operations."""
        with self.building:
            return self._background

    @property
    def sharded(self) -> bool:
        """Tell whether nodes may be listed by shard only: law 4."""
        return self.scope.shard is not None

    @contextlib.contextmanager
    def ports(self) -> Iterator[Ports]:
        """Lend records, a client of Ironic, and the membership."""
        with self._inventory() as source:
            yield Ports(self.records, source, self.backend, self.interpret)

    def ports_of(self, request_id: str) -> Ports:
        """Return ports whose client sends the request id to Ironic."""
        with self.building:
            source = self.wired.inventory_of(request_id)
        return Ports(self.records, source, self.backend, self.interpret)

    def placement_of(self, request_id: str) -> Placement | None:
        """Return a client that sends the request id to Placement.

        :returns: ``None`` where the deployment does not use Placement.
        """
        with self.building:
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
            with self.building:
                lent = self.wired.inventory_of(self._request_id)
        try:
            yield lent
        finally:
            self._idle.put(lent)
