"""The objects of one process, each built on first use, for any thread."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import queue
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from oslo_config import cfg

from ironic_ownership import plugins
from ironic_ownership.conf.configuration import backend, database_url
from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import Companion
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.plugin_guard import GuardedBackend
from ironic_ownership.engine.ports import BareMetal, Placement, Ports
from ironic_ownership.settings import (
    Settings,
    policy_building,
    policy_names,
    read,
)

if TYPE_CHECKING:
    from ironic_ownership.db import connection
    from ironic_ownership.engine.deletion.missing_nodes import Limits
    from ironic_ownership.engine.ports import (
        Moves,
        Records,
        Reservations,
    )
    from ironic_ownership.engine.queries import deployment

T = TypeVar('T')


class built(Generic[T]):  # noqa: N801 - a property, as functools has them
    """A thing that is built on first use, by one thread for all."""

    def __init__(self, build: Callable[[Any], T]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, wired: Container, owner: type) -> T:
        with wired.lock:
            if self._name not in wired.__dict__:
                wired.__dict__[self._name] = self._build(wired)
            found: T = wired.__dict__[self._name]
        return found


class Container:
    """The objects of one process, wired by its configuration.

    :param conf: a parsed configuration with the core options.
    :ivar lock: held while something is built, and while options are read:
        that registers some of them.
    :ivar waits: whether stores are opened before the schema is in place, as
        a service does that waits for its database.
    :ivar request_id: is sent to Ironic, where a process has one request.
    :ivar on_nodes_read: receives the number of nodes of a list while Ironic
        is read.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf
        self.lock = threading.RLock()
        self.waits = False
        self.request_id: str | None = None
        self.on_nodes_read: Callable[[int], object] = int
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()
        # A client of Ironic is used by one thread at a time.
        self._idle: queue.SimpleQueue[BareMetal] = queue.SimpleQueue()

    @built
    def database(self) -> connection.Database:
        """The database, without a check of its schema.

        :raises RecordsError: if the connection's URL can't work.
        """
        from ironic_ownership.db import connection

        group, membership = self.conf.database, self.conf.membership
        # The server has to roll back the transaction of a frozen process
        # before other members may declare it dead.
        before_death = (
            membership.member_ttl
            - membership.heartbeat_interval
            - membership.fence_margin
        )
        return connection.open_database(
            database_url(self.conf),
            idle_timeout=max(1.0, min(connection.LONGEST_IDLE, before_death)),
            **connection.engine_options(group),
        )

    @built
    def companion(self) -> Companion | None:
        """The other tables, without a check of the schema of the records.

        ``None`` if none are configured.
        """
        opened = (
            module.open_companion(self.conf, lambda: self.database)
            for name, module in plugins.loaded_companions().items()
            if name in self.conf
        )
        return next(filter(None, opened), None)

    def ensure_schema(self, *, create: bool = False) -> None:
        """Check that this release's schema is in place; upgrade SQLite's.

        :param create: also creates one: for a service, and not for commands.
        :raises RecordsError: if the database can't be used.
        """
        if not self.database.is_current:
            from ironic_ownership.db import schema

            schema.ensure(self.database, create=create)

    def _open(self, store: Callable[..., T]) -> T:
        companion = self.companion
        if not self.waits:
            self.ensure_schema()
        return store(self.database, companion and companion.transactions)

    @built
    def records(self) -> Records:
        """The records."""
        from ironic_ownership.db.records import SqlRecords

        return self._open(SqlRecords)

    @built
    def moves(self) -> Moves:
        """The moves."""
        from ironic_ownership.db.moves import SqlMoves

        return self._open(SqlMoves)

    @built
    def reservations(self) -> Reservations:
        """The reservations."""
        from ironic_ownership.db.reservations import SqlReservations

        return self._open(SqlReservations)

    @built
    def _client_settings(self) -> Settings:
        # A process that only reads and commands.
        return read(self.conf, serves=False)

    @built
    def settings(self) -> Settings:
        """The validated configuration of a host process.

        :raises ConfigurationError: listing every fault.
        """
        return read(self.conf)

    @property
    def policy_names(self) -> Sequence[str]:
        """The policies that the configuration names, valid or not."""
        return policy_names(self.conf)

    def may_import(self, policy: str) -> bool:
        """Tell whether this process may import a policy of that name.

        Members and clients name policies. That must not run the code of a
        package that is merely installed.
        """
        return (
            plugins.is_own(plugins.POLICIES, policy)
            or plugins.is_loaded(plugins.POLICIES, policy)
            or policy in self.conf.ownership.importable_policies
            or policy in self.policy_names
        )

    @built
    def interpret(self) -> policy_set.Interpreter:
        """The builder of the policies of any member.

        It returns ``None`` also if this process may not import one of them.
        """
        return functools.partial(
            policy_building.interpret, may_import=self.may_import
        )

    @property
    def backend_name(self) -> str:
        """The membership backend that the configuration names."""
        return str(self.conf.ownership.backend).strip()

    @built
    def backend(self) -> GuardedBackend:
        """The membership backend, not joined.

        :raises ConfigurationError: if it can't be used.
        """
        target, values = backend(self.conf, self.conf.ownership.backend)
        with plugins.building(plugins.BACKENDS, self.backend_name):
            opened = target(
                values,
                member_ttl=self.conf.membership.member_ttl,
                call_timeout=self.conf.membership.heartbeat_interval,
            )
        return GuardedBackend(
            opened, plugins.named(plugins.BACKENDS, self.backend_name)
        )

    @built
    def ironic(self) -> BareMetal:
        """The client of Ironic; sends no request yet.

        :raises IronicError: if its options can't work.
        """
        return self.ironic_of()

    def ironic_of(
        self, request_id: str | None = None, fields: Collection[str] = ()
    ) -> BareMetal:
        """Return a new client of Ironic, which sends this request id.

        :param fields: of nodes that are read as well.
        """
        from ironic_ownership.clients import options

        with self.lock:
            opened = options.open_ironic(
                self.conf,
                request_id=request_id,
                on_request=lambda: {*plugins.node_fields, *fields},
                on_read=self.on_nodes_read,
            )
            self._opened.add(opened)
        opened.outage_counts = (
            self.conf.ownership.without_conductors == 'out_of_service'
        )
        return opened

    @contextlib.contextmanager
    def _lent_ironic(self) -> Iterator[BareMetal]:
        try:
            lent = self._idle.get_nowait()
        except queue.Empty:
            lent = self.ironic_of(self.request_id)
        try:
            yield lent
        finally:
            self._idle.put(lent)

    @contextlib.contextmanager
    def ports(self) -> Iterator[Ports]:
        """Lend records, a client of Ironic, and the membership."""
        records = self.records  # reports first that there is no configuration
        with self._lent_ironic() as ironic:
            yield Ports(records, ironic, self.backend, self.interpret)

    def ports_of(
        self,
        request_id: str,
        fields: Collection[str] = (),
        *,
        placement: bool = False,
    ) -> Ports:
        """Return ports whose clients send the request id.

        :param fields: of nodes that are read as well.
        :param placement: with that of Placement.
        """
        return Ports(
            self.records,
            self.ironic_of(request_id, fields),
            self.backend,
            self.interpret,
            self.placement_of(request_id) if placement else None,
        )

    def overview(
        self, *, complete: bool = True, placement: bool = False
    ) -> deployment.Deployment:
        """Read the whole deployment, as far as it answers.

        :param complete: read open reservations and the rows of a companion
            too, of which there may be one for each node; policies that fail
            are not tolerated then.
        :param placement: read Placement next to a companion, too.
        """
        from ironic_ownership.engine.decision import peer_groups
        from ironic_ownership.engine.queries import deployment_reader

        with contextlib.ExitStack() as lent:
            found = deployment_reader.read(
                deployment_reader.Sources(
                    self.interpret,
                    lambda: self.records,
                    lambda: lent.enter_context(self._lent_ironic()),
                    lambda: self.backend,
                    (lambda: self.reservations) if complete else None,
                    lambda: self.companion if complete else None,
                    lambda: self.placement_of() if placement else None,
                    self.shared_key if complete else '',
                ),
                sharded=self.sharded(),
            )
        if complete:
            return found
        return dataclasses.replace(found, on_fault=peer_groups.tolerant())

    def placement_of(self, request_id: str | None = None) -> Placement | None:
        """Return a client of Placement; ``None`` if that is not configured.

        :raises OwnershipError: if its options can't work.
        """
        from ironic_ownership.clients import options

        with self.lock:
            opened = options.open_placement(self.conf, request_id)
            self._opened.update(filter(None, (opened,)))
            return opened

    @built
    def scope(self) -> model.Scope:
        """The scope of the policies configured here.

        :raises ConfigurationError: if the configuration can't be used.
        """
        return self._client_settings.tuning.policies.scope

    def sharded(self) -> bool:
        """Tell whether nodes may be listed by shard only: law 4."""
        return self.scope.shard is not None

    @built
    def limits(self) -> Limits:
        """The limits of a plausible loss; errors as for :attr:`scope`."""
        return self._client_settings.tuning.limits

    @property
    def permission_lifetime(self) -> float:
        """Seconds for which an unconfirmed permission may last, anywhere.

        A heartbeat interval, which each process has for itself: a third of
        the time to live at most, and that is the same for all.
        """
        longest: float = self.conf.membership.member_ttl / 3
        return longest

    @property
    def own_scope_only(self) -> bool:
        """True if deployed nodes outside of a service's scope are refused."""
        return bool(self.conf.ownership.scope_of_deployed_nodes == 'own')

    @property
    def shared_key(self) -> str:
        """The key with which requests to Ironic are signed; may be empty."""
        return self.conf.enforcement.shared_key or ''

    @property
    def service(self) -> str:
        """The service configured here, which may run elsewhere.

        :raises ConfigurationError: if the configuration can't be used.
        """
        return self._client_settings.host

    def close(self) -> None:
        """Close all connections. Idempotent."""
        with self.lock:
            for client in [*self._opened]:
                client.close()
        for name in ('backend', 'database'):
            opened = self.__dict__.get(name)
            if opened is not None:
                opened.close()
