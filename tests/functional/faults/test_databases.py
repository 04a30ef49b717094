"""The database of the records goes down."""

from __future__ import annotations

from tests.functional.faults.support import incident, stores
from tests.functional.support import databases, hosts

BOTH = ('host1', 'host2')


class _Restarts(incident.IncidentTestCase):
    """The members are with the records, as they are by default."""

    patience = float(str(hosts.FAST['membership']['member_ttl']))

    def open_store(self, url: str) -> stores.Store:
        return stores.RecordsStore(url)

    def test_restarted_database_moves_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        self.start(*BOTH)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        with self.nothing_moves():
            for _ in range(2):
                self.kind.server.restart()
                more, _ = self.enrol(8)
                self.wait_for_ring(more, BOTH)

    def test_outage_longer_than_all_memberships_moves_nothing(self) -> None:
        self.deployment.live_for(incident.STEADY)
        running = self.start(*BOTH)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        with self.nothing_moves():
            self.kind.server.stop()
            try:
                self.wait_for_fences(running)
                more, _ = self.enrol(8)
            finally:
                self.kind.server.start()
            self.wait_for_ring(more, BOTH)


class TestPostgreSQLRestarts(_Restarts):
    kind = databases.POSTGRESQL


class TestMariaDBRestarts(_Restarts):
    kind = databases.MARIADB


del _Restarts
