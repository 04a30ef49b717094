"""What is behind the resources: the objects that the wiring builds.

Requests are answered by several threads. What only one thread at a time may
use, the clients of Ironic, is lent out here.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
from collections.abc import Iterator
from typing import Protocol

from ironic_ownership.api import metrics_cache
from ironic_ownership.contracts import inventory, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.moves import Moves
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.records import Records
from ironic_ownership.contracts.reservations import Reservations
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import deployment_snapshot
from ironic_ownership.engine.reservations.reserver import Reserver


class Wired(Protocol):
    """What of the wiring is used here; tests bring their own."""

    @property
    def backend(self) -> MembershipBackend: ...  # noqa: D102
    @property
    def scope(self) -> model.Scope: ...  # noqa: D102 - configured here
    @property
    def service(self) -> str: ...  # noqa: D102 - configured here
    def ready_records(self) -> Records: ...  # noqa: D102
    def ready_moves(self) -> Moves: ...  # noqa: D102
    def ready_reservations(  # noqa: D102
        self,
    ) -> Reservations: ...
    def reserver(self) -> Reserver: ...  # noqa: D102 - for all
    def inventory_of(  # noqa: D102
        self, request_id: str | None = None
    ) -> inventory.Inventory: ...
    def placement_of(  # noqa: D102
        self, request_id: str | None = None
    ) -> Placement | None: ...


class RequestContext:
    """The objects behind the resources, for any number of threads.

    :param interpret: reads the settings that members advertise.
    :param metrics_interval: seconds for which metrics stay as they are.
    :ivar wired: what builds them.
    :ivar gauges: what the metrics say.
    """

    def __init__(
        self,
        wired: Wired,
        interpret: policy_set.Interpreter,
        metrics_interval: float = 0.0,
    ) -> None:
        self.wired = wired
        self.gauges = metrics_cache.Gauges(
            self.overview,
            interpret,
            metrics_interval,
        )
        self.interpret = interpret
        self._building = threading.Lock()
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
        """The moves, beside the records."""
        with self._building:
            return self.wired.ready_moves()

    @property
    def reservations(self) -> Reservations:
        """The reservations, beside the records."""
        with self._building:
            return self.wired.ready_reservations()

    @functools.cached_property
    def _reserver(self) -> Reserver:
        return self.wired.reserver()

    @property
    def reserver(self) -> Reserver:
        """What reserves nodes: those who ask at once share its looks.

        :raises OwnershipError: if the database or Ironic can't be used.
        """
        with self._building:
            return self._reserver

    @property
    def backend(self) -> MembershipBackend:
        """The membership."""
        with self._building:
            return self.wired.backend

    @property
    def scope(self) -> model.Scope:
        """The scope of the policies that are configured here."""
        with self._building:
            return self.wired.scope

    @property
    def sharded(self) -> bool:
        """Whether nodes may be listed by shard only: law 4."""
        return self.scope.shard is not None

    @contextlib.contextmanager
    def ports(self) -> Iterator[Ports]:
        """Lend records, a client of Ironic, and the membership."""
        with self._inventory() as source:
            yield Ports(self.records, source, self.backend, self.interpret)

    def ports_of(self, request_id: str) -> Ports:
        """Return ports of which Ironic is told the request id."""
        with self._building:
            source = self.wired.inventory_of(request_id)
        return Ports(self.records, source, self.backend, self.interpret)

    def overview(
        self, *, reservations: bool = True
    ) -> deployment_snapshot.Overview:
        """Read the whole deployment, as far as it answers.

        :param reservations: whether the open ones are wanted.
        """
        with contextlib.ExitStack() as lent:
            return deployment_snapshot.read(
                deployment_snapshot.Sources(
                    lambda: self.records,
                    lambda: lent.enter_context(self._inventory()),
                    lambda: self.backend,
                    (lambda: self.reservations) if reservations else None,
                ),
                sharded=self.sharded,
            )

    @contextlib.contextmanager
    def _inventory(self) -> Iterator[inventory.Inventory]:
        try:
            lent = self._idle.get_nowait()
        except queue.Empty:
            with self._building:
                lent = self.wired.inventory_of()
        try:
            yield lent
        finally:
            self._idle.put(lent)
