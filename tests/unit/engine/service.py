"""One service, whole but for its threads, in a world that a test controls.

Real engine, real records on SQLite, the memory backend; the clock and
Ironic belong to the test.
"""

from __future__ import annotations

import dataclasses
import threading

from ironic_ownership.backends import memory
from ironic_ownership.contracts import model
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.records import Records
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import conditions
from ironic_ownership.engine.availability import tracker
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership.engine.host import refresh, refresh_result, takeover
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.writer import Writer
from ironic_ownership.engine.membership import fence, local_member
from ironic_ownership.engine.ports import Ports
from ironic_ownership.testing import fakes
from tests.unit.db import sqlite
from tests.unit.engine import world
from tests.unit.engine.clock import Clock

TTL, MARGIN, RECHECK, LIMIT = 20.0, 1.0, 600.0, 5000
LOGGER = 'ironic_ownership.engine'


@dataclasses.dataclass
class Shared:
    """What the services of one deployment have in common."""

    clock: Clock
    store: memory.MemoryStore
    records: Records
    ironic: fakes.FakeInventory


class Service:
    """One process of a service; never beats or refreshes by itself.

    :ivar woken: how often the membership told of a change.
    :ivar died: the hosts that it told to have died.
    """

    def __init__(
        self,
        host: str,
        settings: model.MemberSettings,
        shared: Shared,
        records: Records | None = None,
        ironic: fakes.FakeInventory | None = None,
        *,
        reporter: refresh_result.Reporter | None = None,
        placement: Placement | None = None,
    ) -> None:
        self.host = host
        records = records or shared.records
        ironic = ironic or shared.ironic
        policies = world.interpret(settings) or policy_set.PolicySet()
        self.backend = memory.MemoryBackend(
            {}, member_ttl=TTL, call_timeout=5, store=shared.store
        )
        self.fence = fence.Fence(TTL, MARGIN, shared.clock)
        self.conditions = conditions.Conditions()
        self.woken = 0
        self.died: set[str] = set()
        self.membership = local_member.Membership(
            local_member.Identity(host, settings),
            self.backend,
            records,
            self.fence,
            self.conditions,
            self._wake,
            shared.clock,
        )
        ports = Ports(
            records, ironic, self.backend, world.interpret, placement
        )
        operator_log = OperatorLog(host, self.conditions)
        writer = Writer(host, records, self.fence, operator_log)
        self.availability_tracker = tracker.AvailabilityTracker(
            ironic, self.conditions, clock=shared.clock
        )
        self.refresher = refresh.Refresher(
            host,
            policies.scope,
            ports,
            self.fence,
            operator_log,
            missing_nodes.MissingNodes(
                ironic,
                missing_nodes.Limits(RECHECK, 0.25, 3),
                shared.clock,
            ),
            writer,
            self.membership.judgement,
            handover_limit=LIMIT,
            availability_tracker=self.availability_tracker,
            reporter=reporter,
            clock=shared.clock,
        )
        self.takeover = takeover.TakeOver(
            host,
            ports,
            lambda: self.refresher.last_scan,
            self.membership.judgement,
            self.fence,
            writer,
            self.conditions,
            threading.Event(),
            longest_age=takeover.fresh_enough(60.0),
            handover_limit=LIMIT,
            clock=shared.clock,
        )
        self.refresh = self.refresher.refresh

    def beat(self) -> None:
        """Beat, and at once again if that decides about somebody's death.

        So does the loop of the heartbeat.
        """
        self.membership.beat()
        if self.membership.wants_beat:
            self.membership.beat()

    def _wake(self, died: frozenset[str]) -> None:
        self.woken += 1
        self.died |= died


class ServiceCase(sqlite.SqliteCase):
    """Has ``shared``; ``start`` gives a service that is a member."""

    def setUp(self) -> None:
        super().setUp()
        now = Clock()
        self.database = self.open_with_schema()
        self.shared = Shared(
            now,
            memory.MemoryStore(now),
            SqlRecords(self.database),
            fakes.FakeInventory(),
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
            host,
            settings,
            self.shared,
            reporter=reporter,
            placement=placement,
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
