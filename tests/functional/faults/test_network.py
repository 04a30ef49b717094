"""The network fails between one host and the store, or the database."""

from __future__ import annotations

from tests.functional.faults.support import incident
from tests.functional.support import hosts

BOTH = ('host1', 'host2')


class TestNetwork(incident.IncidentTestCase):
    """The host ``host1`` reaches store and database by proxies.

    The members are on MariaDB, the records on PostgreSQL.
    """

    def connect(self) -> None:
        """Start both hosts."""
        database = self.deployment.database.engine.url.port
        self.to_store = self.proxy_to(self.deployment.store.port)
        self.to_database = self.proxy_to(int(database or 0))
        self.host = self.deployment.launch(
            'host1',
            store_port=self.to_store.port,
            database_port=self.to_database.port,
        )
        self.start('host2')
        self.wait_for_members(*BOTH)

    def share(self) -> tuple[list[str], set[str]]:
        """Start both hosts, and wait until they own nodes."""
        self.connect()
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        return uuids, deployed

    def test_reset_connections_to_the_store_are_no_death(self) -> None:
        self.deployment.live_for(incident.LONG)
        self.share()
        with self.nothing_moves():
            for _ in range(3):
                self.to_store.cut()
                self.to_store.forward()
                more, _ = self.enrol(8)
                self.wait_for_ring(more, BOTH)

    def test_host_cut_off_from_the_database_keeps_its_nodes(self) -> None:
        self.deployment.live_for(incident.LONG)
        # Alive, but unable to write: no service may take its nodes, and it
        # gets no more of them.
        self.share()
        with self.nothing_moves():
            self.to_database.silence()
            more, _ = self.enrol()
            mine = self.share_of(more, 'host2', BOTH)
            self.wait_for_owner(mine, 'host2')
            self.assertEqual(BOTH, tuple(sorted(self.deployment.members())))
            self.to_database.forward()
            self.wait_for_ring(more, BOTH)

    def test_slow_store_costs_memberships_at_worst(self) -> None:
        uuids, deployed = self.share()
        ttl = float(str(hosts.FAST['membership']['member_ttl']))
        for latency in (0.1, 0.5, ttl / 2, ttl):
            self.to_store.delay(latency)
            more, _ = self.enrol(8)
            self.wait_for_owner(self.share_of(more, 'host2', BOTH), 'host2')
            uuids += more[2:]
        self.to_store.forward()
        self.wait_for_ring(sorted(set(uuids) - deployed), BOTH)
