"""One service, whole but for its threads, in a world that a test controls.

Real engine, real records on SQLite, the memory backend; the clock and
Ironic belong to the test.
"""

from __future__ import annotations

import dataclasses
import threading

from ironic_ownership.backends import memory
from ironic_ownership.contracts import model
from ironic_ownership.contracts import placement as placement_
from ironic_ownership.contracts import records as port
from ironic_ownership.db import records as sql
from ironic_ownership.engine import access, notices
from ironic_ownership.engine.deciding import policy_set
from ironic_ownership.engine.hosting import (
    journal,
    refresh,
    refreshed,
    takeover,
    writer,
)
from ironic_ownership.engine.members import fence, membership
from ironic_ownership.engine.removing import absentees
from ironic_ownership.engine.scheduling import judging
from ironic_ownership.testing import inventory
from tests.unit.db import sqlite
from tests.unit.engine import clock, world

TTL, MARGIN, RECHECK, LIMIT = 20.0, 1.0, 600.0, 5000
LOGGER = 'ironic_ownership.engine'


@dataclasses.dataclass
class Shared:
    """What the services of one deployment have in common."""

    clock: clock.Clock
    store: memory.MemoryStore
    records: port.Records
    ironic: inventory.FakeInventory


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
        records: port.Records | None = None,
        ironic: inventory.FakeInventory | None = None,
        *,
        reporter: refreshed.Reporter | None = None,
        placement: placement_.Placement | None = None,
    ) -> None:
        self.host = host
        records = records or shared.records
        ironic = ironic or shared.ironic
        policies = world.interpret(settings) or policy_set.PolicySet()
        self.backend = memory.MemoryBackend(
            {}, member_ttl=TTL, call_timeout=5, store=shared.store
        )
        self.fence = fence.Fence(TTL, MARGIN, shared.clock)
        self.notices = notices.Notices()
        self.woken = 0
        self.died: set[str] = set()
        self.membership = membership.Membership(
            membership.Identity(host, settings),
            self.backend,
            records,
            self.fence,
            self.notices,
            self._wake,
            shared.clock,
        )
        ports = access.Ports(
            records, ironic, self.backend, world.interpret, placement
        )
        journal_ = journal.Journal(host, self.notices)
        writer_ = writer.Writer(host, records, self.fence, journal_)
        self.judging = judging.Judging(
            ironic, self.notices, clock=shared.clock
        )
        self.refresher = refresh.Refresher(
            host,
            policies.scope,
            ports,
            self.fence,
            journal_,
            absentees.Absentees(
                ironic,
                absentees.Limits(RECHECK, 0.25, 3),
                shared.clock,
            ),
            writer_,
            self.membership.judgement,
            handover_limit=LIMIT,
            judging_=self.judging,
            reporter=reporter,
            clock=shared.clock,
        )
        self.takeover = takeover.TakeOver(
            host,
            ports,
            lambda: self.refresher.last_scan,
            self.membership.judgement,
            self.fence,
            writer_,
            self.notices,
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
        now = clock.Clock()
        self.database = self.open_with_schema()
        self.shared = Shared(
            now,
            memory.MemoryStore(now),
            sql.SqlRecords(self.database),
            inventory.FakeInventory(),
        )
        self.ironic = self.shared.ironic
        self.records = self.shared.records

    def start(
        self,
        host: str,
        settings: model.MemberSettings = world.ALL,
        *,
        reporter: refreshed.Reporter | None = None,
        placement: placement_.Placement | None = None,
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
