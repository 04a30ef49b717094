"""One service without its threads, in a world that a test controls.

Real engine, real records on SQLite, the memory backend; the clock and
Ironic belong to the test.
"""

from __future__ import annotations

import dataclasses
import threading

from ironic_ownership.backends import memory
from ironic_ownership.contracts import model
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import conditions
from ironic_ownership.engine.availability.evaluation import FlapDamper
from ironic_ownership.engine.availability.tracker import AvailabilityTracker
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership.engine.host import feed, refresh_result, takeover
from ironic_ownership.engine.host.action_guard import Guard
from ironic_ownership.engine.host.client_pool import ClientPool
from ironic_ownership.engine.host.fleet_reader import FleetReader
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.reconciler import Reconciler
from ironic_ownership.engine.host.refresh import Refresher
from ironic_ownership.engine.host.tuning import Intervals, Tuning
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Ports, Records
from tests.contract.suites import fake_inventory
from tests.unit.db import sqlite
from tests.unit.engine import world
from tests.unit.engine.clock import Clock

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
    ironic: fake_inventory.FakeInventory


class Service:
    """One process of a service; never beats or refreshes by itself.

    :ivar woken: number of changes of the membership.
    :ivar died: the hosts that have died.
    """

    def __init__(
        self,
        host: str,
        settings: model.MemberSettings,
        shared: Shared,
        records: Records | None = None,
        ironic: fake_inventory.FakeInventory | None = None,
        *,
        reporter: refresh_result.Reporter | None = None,
        placement: Placement | None = None,
        reader: FleetReader | None = None,
    ) -> None:
        self.host = host
        records = records or shared.records
        ironic = ironic or shared.ironic
        policies = world.interpret(settings) or policy_set.PolicySet()
        self.backend = memory.MemoryBackend(
            {}, member_ttl=TTL, call_timeout=5, store=shared.store
        )
        self.context = ServiceContext(
            host,
            Ports(records, ironic, self.backend, world.interpret, placement),
            Fence(TTL, MARGIN, shared.clock),
            conditions.Conditions(),
            shared.clock,
        )
        self.fence = self.context.fence
        self.conditions = self.context.conditions
        self.woken = 0
        self.died: set[str] = set()
        self.member = LocalMember(self.context, settings, self._wake)
        operator_log = OperatorLog(host, self.conditions)
        self.availability = AvailabilityTracker(
            ironic, self.conditions, FlapDamper(RECOVERY_DELAY), shared.clock
        )
        self.feed = feed.Feed(self.fence)
        self.reconciler = Reconciler(
            self.context, operator_log, LIMIT, self.feed
        )
        self.missing_nodes = missing_nodes.MissingNodes(
            ironic, LIMITS, shared.clock
        )
        self.refresher = Refresher(
            self.context,
            policies.scope,
            self.reconciler,
            self.missing_nodes,
            operator_log,
            self.member.liveness,
            availability=self.availability,
            reporter=reporter,
            reader=reader,
        )
        self.takeover = takeover.TakeOver(
            self.context,
            self.reconciler,
            lambda: self.refresher.last_scan,
            self.member.liveness,
            threading.Event(),
            longest_age=takeover.longest_scan_age(60.0),
        )
        self.refresh = self.refresher.refresh

    def guard(
        self, policies: policy_set.PolicySet, longest: float = 5.0
    ) -> Guard:
        """Return a guard that reads with the client of the service."""
        return Guard(
            self.context,
            policies,
            longest=longest,
            clients=ClientPool(lambda: self.context.ports.source, 1),
        )

    def beat(self) -> None:
        """Beat, and immediately again if that decides about a death.

        The heartbeat loop does the same, and another thread polls the row.
        """
        self.member.check_epoch()
        self.member.beat()
        if self.member.wants_beat:
            self.member.beat()

    def _wake(self, died: frozenset[str]) -> None:
        self.woken += 1
        self.died |= died


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
            fake_inventory.FakeInventory(),
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
        reader: FleetReader | None = None,
    ) -> Service:
        started = Service(
            host,
            settings,
            self.shared,
            reporter=reporter,
            placement=placement,
            reader=reader,
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
