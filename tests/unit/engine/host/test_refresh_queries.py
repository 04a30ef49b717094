"""Number of statements of a refresh in which nothing changes."""

from __future__ import annotations

from ironic_ownership.db import heartbeats
from tests.unit.engine import service, world

WRITES = ('INSERT', 'UPDATE', 'DELETE', 'REPLACE')


class TestQueries(service.CountedCase):
    """Counted on the records and on the members of the ``db`` backend."""

    def measured(self, host: service.Service) -> list[str]:
        """Return the statements of a refresh in which nothing changes."""
        host.refresh()
        self.statements.clear()
        self.assertEqual(0, host.refresh().applied)
        return list(self.statements)

    def start_on_database(self, host: str, runs) -> service.Service:
        started = service.Service(host, runs, self.shared)
        backend = heartbeats.DatabaseBackend(
            {'connection': self.url}, member_ttl=3600, call_timeout=20
        )
        self.addCleanup(backend.close)
        started.member._backend = backend
        object.__setattr__(started.context.ports, 'backend', backend)
        started.beat()
        return started

    def check(self, *runs) -> None:
        hosts = [
            self.start_on_database(f'host{place}', settings)
            for place, settings in enumerate(runs)
        ]
        for host in hosts:
            host.beat()
        found = []
        for count in (10, 100, 1000):
            for number in range(count):
                self.ironic.put(
                    world.node(number, shard='a', conductor_group='g')
                )
            for host in hosts:
                host.refresh()
            found.append(self.measured(hosts[0]))
        writes = [s for s in found[-1] if s.lstrip().startswith(WRITES)]
        self.assertEqual([], writes)
        self.assertGreater(len(found[0]), 2)
        self.assertEqual(
            [len(found[0])] * 3, [len(statements) for statements in found]
        )

    def test_they_do_not_grow_with_the_nodes_of_one_service(self) -> None:
        self.check(world.ALL)

    def test_they_do_not_grow_with_the_nodes_of_a_shard(self) -> None:
        self.check(world.runs(shard_key='a'))

    def test_they_do_not_grow_with_the_nodes_of_a_ring(self) -> None:
        self.check(world.RING, world.RING)

    def test_they_do_not_grow_with_unowned_nodes_of_a_shard(self) -> None:
        self.check(
            world.runs(shard_key='a'), world.runs(shard_key='a', peer_list=())
        )
