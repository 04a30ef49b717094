"""One service, whole but for its threads, in a world that a test controls.

Real engine, real records on SQLite, the memory backend; the clock and
Ironic belong to the test.
"""

from __future__ import annotations

import dataclasses

from ironic_ownership.backends import memory
from ironic_ownership.contracts import model
from ironic_ownership.contracts import records as port
from ironic_ownership.db import records as sql
from ironic_ownership.engine import (
    absentees,
    fence,
    journal,
    membership,
    notices,
    policy_set,
    refresh,
)
from ironic_ownership.testing import inventory
from tests.unit.db import sqlite
from tests.unit.engine import clock, world

TTL, MARGIN, RECHECK = 20.0, 1.0, 600.0
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

    :ivar woken: how often the membership asked for a refresh.
    """

    def __init__(
        self,
        host: str,
        settings: model.MemberSettings,
        shared: Shared,
        records: port.Records | None = None,
        ironic: inventory.FakeInventory | None = None,
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
        self.membership = membership.Membership(
            membership.Identity(host, settings),
            self.backend,
            records,
            self.fence,
            self.notices,
            self._wake,
            shared.clock,
        )
        self.refresher = refresh.Refresher(
            host,
            policies.scope,
            refresh.Ports(records, ironic, self.backend, world.interpret),
            self.fence,
            journal.Journal(host, self.notices),
            absentees.Absentees(
                ironic,
                absentees.Limits(RECHECK, 0.25, 3),
                shared.clock,
            ),
        )
        self.beat = self.membership.beat
        self.refresh = self.refresher.refresh

    def _wake(self) -> None:
        self.woken += 1


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
        self, host: str, settings: model.MemberSettings = world.ALL
    ) -> Service:
        started = Service(host, settings, self.shared)
        started.beat()
        return started

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
