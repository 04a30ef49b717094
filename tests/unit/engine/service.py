"""One service without its threads, in a world that a test controls.

Real engine, real records on SQLite, the memory backend; the clock and
Ironic belong to the test.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable

import sqlalchemy as sa

from ironic_ownership.backends import memory
from ironic_ownership.contracts import model
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import conditions
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.host.action_guard import Guard
from ironic_ownership.engine.host.process import Host
from ironic_ownership.engine.host.tuning import Intervals, Tuning
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Placement, Ports, Records
from ironic_ownership_plugin_kit.fakes import FakeClock as Clock
from tests.contract.suites import fake_bare_metal
from tests.unit.db import sqlite
from tests.unit.engine import world
from tests.unit.engine.virtual_time import VirtualTime

TTL, MARGIN, RECHECK, LIMIT = 20.0, 1.0, 600.0, 5000
RECOVERY_DELAY = 60.0
LOGGER = 'ironic_ownership.engine'


LIMITS = missing_nodes.Limits(RECHECK, 0.25, 3)


def tuning_of(
    settings: model.MemberSettings,
    limits: missing_nodes.Limits = LIMITS,
    refresh_interval: float = 60,
    handover_limit: int = LIMIT,
    recovery_delay: float = RECOVERY_DELAY,
) -> Tuning:
    """Return the configuration of a service that runs these policies."""
    return Tuning(
        settings,
        world.interpret(settings) or policy_set.PolicySet(),
        Intervals(5, 1, refresh_interval, 30),
        limits,
        handover_limit,
        recovery_delay,
    )


@dataclasses.dataclass
class Shared:
    """Objects shared by the services of one deployment."""

    clock: Clock
    store: memory.MemoryStore
    records: Records
    ironic: fake_bare_metal.FakeBareMetal


def process_info() -> model.ProcessInfo:
    """Return a process of this release, each on a machine of its own."""
    return model.ProcessInfo(uuid.uuid4().hex, 1, '1', TTL)


class Service:
    """One process of a service; never beats or refreshes by itself."""

    def __init__(
        self,
        host: str,
        settings: model.MemberSettings,
        shared: Shared,
        *,
        reporter: refresh_result.Reporter | None = None,
        placement: Placement | None = None,
    ) -> None:
        self.host = host
        self.backend = memory.MemoryBackend(
            {}, member_ttl=TTL, call_timeout=5, store=shared.store
        )
        self.context = ServiceContext(
            host,
            Ports(
                shared.records,
                shared.ironic,
                self.backend,
                world.interpret,
                placement,
            ),
            Fence(TTL, MARGIN, shared.clock),
            conditions.Conditions(),
            shared.clock,
        )
        self.fence = self.context.fence
        self.conditions = self.context.conditions
        if settings.process is None:
            settings = dataclasses.replace(settings, process=process_info())
        self.member = LocalMember(self.context, settings)
        self.process = Host(
            self.member,
            tuning_of(settings),
            scheduler=VirtualTime(self.conditions, shared.clock),
            reporter=reporter,
        )
        self.feed, self.takeover = self.process.feed, self.process.takeover
        self.refresher = self.process.refresh_loop.refresher
        self.refresh = self.refresher.refresh
        self.reconciler = self.refresher.reconciler
        self.missing_nodes = self.refresher.missing_nodes
        self.availability = self.refresher.availability

    def guard(
        self, policies: policy_set.PolicySet, longest: float = 5.0
    ) -> Guard:
        """Return the guard of the service, with other policies."""
        guard = self.process.guard
        guard.policies, guard.longest = policies, longest
        return guard

    def read_changes(self, interval: float = 10**9) -> None:
        """List all nodes only after that many seconds again."""
        self.refresher.reader.interval = interval

    def take_died(self) -> set[str]:
        """Return the hosts that died, of which the take-over knows."""
        died, self.takeover._pending = self.takeover._pending, set()
        return died

    def beat(self) -> None:
        """Beat, and immediately again if that decides about a death.

        The heartbeat loop does the same, and another thread polls the row.
        """
        self.member.check_epoch()
        self.member.beat()
        if self.member.wants_beat:
            self.member.beat()


class ServiceCase(sqlite.SqliteCase):
    """A case with ``shared``; ``start`` returns a running member."""

    def setUp(self) -> None:
        super().setUp()
        now = Clock()
        self.database = self.open_with_schema()
        self.shared = Shared(
            now,
            memory.MemoryStore(now),
            SqlRecords(self.database),
            fake_bare_metal.FakeBareMetal(),
        )
        self.ironic = self.shared.ironic
        self.records = self.shared.records

    def start(
        self,
        host: str,
        settings: model.MemberSettings = world.ALL,
        *,
        reporter: refresh_result.Reporter | None = None,
        placement: Placement | None = None,
    ) -> Service:
        started = Service(
            host, settings, self.shared, reporter=reporter, placement=placement
        )
        started.beat()
        return started

    def settle(self, *services: Service) -> None:
        """Let a time to live pass in which these services beat."""
        for _ in range(5):
            self.shared.clock.elapse(TTL / 5)
            for one in services:
                one.beat()

    def operator(self, statement: str) -> None:
        """Change a row as an operator's command does."""
        sqlite.run_sql(self.database, statement)

    def meanwhile(
        self, target: object, method: str, event: Callable[[], object]
    ) -> None:
        """Let something happen once, before the next call of a method."""
        called = getattr(target, method)

        def first(*args: object, **values: object) -> object:
            setattr(target, method, called)
            event()
            return called(*args, **values)

        setattr(target, method, first)

    def owners(self) -> dict[int, str | None]:
        return {
            int(record.uuid[-4:]): record.host
            for record in self.records.compute_nodes()
        }

    def instances(self) -> dict[int, str | None]:
        return {
            int(record.uuid[-4:]): record.instance_uuid
            for record in self.records.compute_nodes()
        }

    def state(self) -> tuple[object, ...]:
        """Return all that a refresh may change."""
        return (
            sorted(self.records.compute_nodes(), key=lambda r: r.uuid),
            self.records.services(),
            self.records.events(limit=100_000),
        )


class CountedCase(ServiceCase):
    """A case with ``statements``, of the records and of the members."""

    def setUp(self) -> None:
        super().setUp()
        self.statements: list[str] = []
        # The backend has connections of its own: listen to all of them.
        sa.event.listen(sa.Engine, 'before_cursor_execute', self.count)
        self.addCleanup(
            sa.event.remove, sa.Engine, 'before_cursor_execute', self.count
        )

    def count(self, conn, cursor, statement, *rest) -> None:
        self.statements.append(statement)
