"""A deployment: services, standbys and operators, with all their threads.

Each process runs the product's own host, built as the program builds it, or
one operation as the command line calls it. Ironic and the store of the members
are models, which pass the contract suites of the real ones.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ironic_ownership.api.operation_client import LocalClient
from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.calls import pending
from ironic_ownership.contracts.conditions import Loop as LoopName
from ironic_ownership.db.heartbeats import DatabaseBackend
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.outbox import SqlOrderTurn
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.db.reservations import SqlReservations
from ironic_ownership.engine import conditions
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.standing_orders import StandingOrders
from ironic_ownership.engine.deletion.missing_nodes import Limits
from ironic_ownership.engine.host import health
from ironic_ownership.engine.host.action_guard import Permission
from ironic_ownership.engine.host.process import Host
from ironic_ownership.engine.host.tuning import Intervals, Tuning
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.plugin_guard import GuardedBackend
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.reservations.candidates import CandidateFinder
from ironic_ownership.engine.reservations.eligibility import ServiceReader
from ironic_ownership.engine.reservations.lifecycle import Lifecycle
from ironic_ownership.engine.reservations.recovery import Recovery
from ironic_ownership.engine.reservations.reserver import Reserver
from tests.contract.suites import fake_allocations
from tests.simulation import threads
from tests.simulation.bare_metal import Given, Ironic
from tests.simulation.checks.checker import Checker
from tests.simulation.cluster import Cluster
from tests.simulation.database import Database, MembersPath
from tests.simulation.links import Port, Server, Writer
from tests.simulation.loop import Loop, Process
from tests.simulation.middleware import KEY, Enforced
from tests.simulation.times import Times
from tests.unit.engine import world
from tests.unit.web import app_case

T = TypeVar('T')


class Site:
    """The deployment of one schedule.

    :param policies: settings of each host; those with a number as well run
        that many processes.
    :param in_database: where the members are.
    :param clustered: whether the records have several writers.
    :param slowness: heartbeats that a message of Ironic takes, at most.
    :ivar machines: the running process of each machine, by its name.
    :ivar enforced: Ironic's API, with the middleware.
    :ivar named: targets and calls that the next fault takes, if they exist.
    :ivar lasts: seconds that a story gives it; zero if it leaves them open.
    :ivar has_trials: whether a move with a trial was ever ordered.
    :ivar pairs: how often a fault came at a step, by both names.
    """

    def __init__(
        self,
        loop: Loop,
        checker: Checker,
        policies: dict[str, model.MemberSettings],
        standbys: Sequence[str] = (),
        nodes: Sequence[model.Node] = (),
        *,
        times: Times,
        in_database: bool = True,
        full_refresh: float = 0.0,
        slowness: float = 0.004,
        clustered: bool = False,
    ) -> None:
        self.loop, self.checker, self.times = loop, checker, times
        self.policies, self.in_database = policies, in_database
        self.full_refresh = full_refresh
        kind = Cluster if clustered else Database
        self.database: Database = kind(loop, idle=times.ttl / 2)
        self.bare_metal = Ironic(loop, nodes)
        self.ironic = Server(loop, exceptions.IronicUnavailableError)
        self.allocations = fake_allocations.FakeAllocations(
            Given(self.bare_metal)
        )
        self.members = Server(loop, exceptions.BackendUnavailableError)
        self.members.timeout = times.heartbeat
        self.servers = (self.database, self.ironic, self.members)
        for server in self.servers:
            server.usual = 0.02 * times.scale
        self.ironic.usual = slowness * times.heartbeat
        api = Process(loop, 'ironic')
        loop.processes.append(api)
        self.enforced = Enforced(
            *(loop, api, self.ironic, self.database.port(api)),
            checker.permissions.admitted,
        )
        self.store = memory.MemoryStore(self._store_clock)
        self.store.lock = threads.RLock()
        self.store_ahead = 0.0
        self.hosts = {host: host for host in policies}
        self.hosts |= {f'{host}-standby': host for host in standbys}
        self.machines: dict[str, ServiceProcess] = {}
        self.started = collections.Counter[str]()
        self.commands = self.instances = 0
        self.has_trials = False
        self.named: list[str] = []
        self.lasts = 0.0
        self.pairs = collections.Counter[tuple[str, str]]()
        checker.watch(self)
        pending._clock = threads.clock
        health.LONGEST_STEP = times.heartbeat

    def _store_clock(self) -> float:
        return self.loop.now + self.store_ahead

    def note(self, fault: str, step: str) -> None:
        """Count a fault at a step."""
        self.pairs[fault, step] += 1

    def start(self, machine: str) -> ServiceProcess:
        """Start the process of a machine."""
        self.started[machine] += 1
        process = ServiceProcess(self, machine)
        self.machines[machine] = process
        return process

    def kill(self, machine: str) -> None:
        """End the process of a machine, between two steps."""
        process = self.machines.pop(machine)
        self.loop.kill(process)
        self.database.abort_all(process)

    def backend(self, process: Process, member: bool) -> MembershipBackend:
        """Return a membership for a process."""
        kind: dict[str, Any] = {
            'member_ttl': self.times.ttl,
            'call_timeout': self.times.heartbeat,
        }
        if self.in_database:
            backend = DatabaseBackend(
                {'connection': str(self.database.port(process).engine.url)},
                clock=process.clock,
                **kind,
            )
            backend._database = self.database.port(process)
            port: Any = MembersPath(backend, self.database, 'members')
        else:
            stored = memory.MemoryBackend({}, store=self.store, **kind)
            port = Port(stored, self.members, 'members')
        return GuardedBackend(port, 'simulated', process.clock)

    def order(self, name: str, **request: Any) -> Command:
        """Let an operator run a command."""
        self.commands += 1
        self.has_trials |= 'trial' in request.get('body', ())
        return Command(self, name, request)

    def tuning(self, host: str, **changed: Any) -> Tuning:
        """Return the configuration of a host."""
        times = self.times
        settings = dataclasses.replace(
            self.policies[host],
            process=model.ProcessInfo(host, 1, '1', times.ttl),
        )
        intervals = {
            'heartbeat': times.heartbeat,
            'watch': times.heartbeat,
            'refresh': times.refresh,
            'restart_grace': times.grace,
            **changed,
        }
        return Tuning(
            settings,
            world.interpret(settings),
            Intervals(**intervals),
            Limits(times.refresh, 0.5, 3),
            handover_limit=5000,
            recovery_delay=times.refresh,
            full_refresh_interval=self.full_refresh,
        )


class ServiceProcess(Process):
    """One process of a service, with a program that asks its guard.

    :ivar host: the service.
    :ivar writer: a name that no other process has.
    """

    built: Host | None = None

    def __init__(self, site: Site, machine: str) -> None:
        rng = site.loop.rng
        super().__init__(
            site.loop,
            machine,
            rate=1 + rng.uniform(-5e-4, 5e-4),
            ahead=rng.uniform(0, 1e6),
        )
        self.site, self.host = site, site.hosts[machine]
        self.writer = f'{machine}.{site.started[machine]}'
        self.held: list[Permission] = []
        self.is_stopping = False
        site.loop.processes.append(self)
        site.loop.spawn(self, 'main', self._serve)
        self.main = self.tasks[0]

    def _serve(self) -> None:
        site, times = self.site, self.site.times
        ports = Ports(
            Writer(SqlRecords(site.database.port(self)), site.database),
            Port(site.bare_metal, site.ironic, 'ironic'),
            site.backend(self, member=True),
            world.interpret,
        )
        context = ServiceContext(
            self.host,
            ports,
            Fence(times.ttl, times.margin, self.clock),
            conditions.Conditions(self.clock),
            self.clock,
        )
        tuning = site.tuning(self.host)
        member = LocalMember(context, tuning.advertised)
        self.built = Host(
            member,
            tuning,
            workers={LoopName.ORDERS: self._orders(context, member)},
            repair=self._recovery(context).recover,
            shared_key=KEY,
        )
        site.loop.spawn(self, 'ask', self._ask)
        site.loop.spawn(self, 'act', self._act)
        self.built.run()

    def _orders(
        self, context: ServiceContext, member: LocalMember
    ) -> StandingOrders:
        site, database = self.site, self.site.database.port(self)
        return StandingOrders(
            context,
            MoveNodes(
                context.ports,
                SqlMoves(database),
                sharded=lambda: False,
                permission_lifetime=site.times.ttl / 3,
            ),
            SqlOrderTurn(database),
            self.writer,
            member.liveness,
            KEY,
            lambda: site.times.refresh,
        )

    def _recovery(self, context: ServiceContext) -> Recovery:
        site, fence = self.site, context.fence
        allocations: Any = Port(site.allocations, site.ironic, 'ironic')
        return Recovery(
            self.host,
            Lifecycle(
                SqlReservations(site.database.port(self)),
                lambda: context.ports.ironic,
                lambda: allocations,
                epoch=fence.epoch,
            ),
            fence,
            context.conditions,
        )

    @property
    def incarnation(self) -> str | None:
        """The incarnation of the process."""
        return self.built.member.incarnation if self.built else None

    @property
    def epoch(self) -> int | None:
        """The epoch under which it believes that it may act."""
        if self.built is None or self.is_dead:
            return None
        with contextlib.suppress(exceptions.FencedError):
            return self._without_locks(self.built.context.fence.epoch)
        return None

    @property
    def may_act(self) -> bool:
        """True if it believes that it may act."""
        return self.epoch is not None

    def may_act_on(self, uuid: str) -> bool:
        """Tell whether it has a permission for a node that seems valid."""
        return any(
            one._uuid == uuid
            and self._without_locks(lambda one=one: one.is_valid)
            for one in self.held
        )

    def _without_locks(self, read: Callable[[], T]) -> T:
        """Read in one step what it believes."""
        self.loop.is_atomic = True
        try:
            return read()
        finally:
            self.loop.is_atomic = False

    def stop(self) -> None:
        """Let it end in order."""
        self.is_stopping = True
        for server in (self.site.database, self.site.members):
            server.beats.pop(self.name, None)
        if self.built is not None:
            self.loop.spawn(self, 'signal', self.built.stop)

    def _ask(self) -> None:
        loop, checker = self.loop, self.site.checker
        guard, beat = self.built.guard, self.site.times.heartbeat
        while True:
            loop.give_way(loop.rng.uniform(0.3, 2) * beat)
            uuid = loop.rng.choice(sorted(checker.nodes or [world.uuid(0)]))
            try:
                if self.held and loop.rng.random() < 0.3:
                    loop.rng.choice(self.held).confirm()
                    continue
                given = guard.check(uuid, patience=loop.rng.choice((0, beat)))
            except exceptions.OwnershipError:
                continue
            self.held = [*self.held[-3:], given]

    def _act(self) -> None:
        while True:
            self.loop.give_way(self.site.times.heartbeat / 4)
            self.site.checker.rights.believes(self)
            if self.held and self.loop.rng.random() < 0.25:
                # It does not look whether its permission has ended.
                one = self.loop.rng.choice(self.held)
                with contextlib.suppress(exceptions.IronicUnavailableError):
                    self.site.enforced.send(one)
            for one in self.held:
                if self._without_locks(lambda one=one: one.is_valid):
                    self.site.checker.permissions.act(self, one)


class _Wired(app_case.Wired):
    shared_key = KEY

    def __init__(self, site: Site, process: Process) -> None:
        ironic = Port(site.bare_metal, site.ironic, 'ironic')
        super().__init__(
            site.database.port(process),
            ironic,
            site.backend(process, member=False),
        )
        self.limits = Limits(0.0, 0.5, 3)
        # By a file with another time to live than that of the services.
        self.permission_lifetime = 0.0
        self.allocations = Port(site.allocations, site.ironic, 'ironic')
        self.clock = process.clock

    def new_reserver(self) -> Reserver:
        """Return one whose waits take time."""
        return Reserver(
            ServiceReader(
                self.records, self.backend, self.interpret, self.clock
            ),
            CandidateFinder(self.records, lambda: self.ironic, self.clock),
            Lifecycle(
                self.reservations,
                lambda: self.ironic,
                lambda: self.allocations,
            ),
        )


class Command(Process):
    """An operator's command, in a process of its own.

    :ivar outcome: what came of it, in a word.
    """

    outcome = 'unfinished'

    def __init__(self, site: Site, name: str, request: Any) -> None:
        super().__init__(site.loop, f'operator-{site.commands}')
        self.site, self.order, self.request = site, name, request
        site.loop.processes.append(self)
        site.loop.spawn(self, 'command', self._run)

    def _run(self) -> None:
        wired = _Wired(self.site, self)
        client = LocalClient(wired, 'operator', f'req-{self.name}')
        try:
            client.call(self.order, **self.request)
            self.outcome = 'done'
        except exceptions.OwnershipError as exc:
            self.outcome = type(exc).__name__
        self.site.checker.tell(
            f'{self.name}: {self.order} {self.request} ends: {self.outcome}'
        )
