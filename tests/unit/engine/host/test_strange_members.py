"""Entries in the store of members that no service wrote."""

from __future__ import annotations

from ironic_ownership.backends import memory
from ironic_ownership.engine.host.refresh_loop import is_unfinished
from tests.unit.engine import service, world

HOSTS = ('host1', 'host2')


class TestStrangeMembers(service.ServiceCase):
    """Two services on a ring, and an entry that beats with them."""

    def setUp(self) -> None:
        super().setUp()
        for number in range(1, 11):
            self.ironic.put(world.node(number))
        self.services = [self.start(host, world.RING) for host in HOSTS]
        self.work()
        self.before = self.owners()
        self.assertEqual(set(HOSTS), set(self.before.values()))

    def enter(self, host: str) -> memory.MemoryBackend:
        """Write an entry that no process has registered for."""
        made = memory.MemoryBackend(
            {}, member_ttl=service.TTL, call_timeout=5, store=self.shared.store
        )
        made.join(host, 'a strange one', world.RING)
        return made

    def work(self, *strange: memory.MemoryBackend, rounds: int = 1) -> None:
        """Let a time to live pass, in which all beat and refresh."""
        for _ in range(5 * rounds):
            self.shared.clock.elapse(service.TTL / 5)
            for one in strange:
                one.beat()
            for one in self.services:
                one.beat()
                if one.member.state.role != 'standby':
                    one.refresh()

    def test_host_that_never_registered_takes_no_node_from_others(
        self,
    ) -> None:
        self.work(self.enter('strange'), rounds=4)
        self.assertEqual(self.before, self.owners())

    def test_process_that_has_not_registered_yet_is_looked_for_soon(
        self,
    ) -> None:
        # The row of a process that joins may be written after this refresh,
        # and nothing in the store tells of it.
        self.assertFalse(is_unfinished(self.services[0].refresh()))
        strange = self.enter('strange')
        self.assertTrue(is_unfinished(self.services[0].refresh()))
        self.work(strange, rounds=4)
        self.assertFalse(is_unfinished(self.services[0].refresh()))

    def test_entry_of_a_dead_host_keeps_its_nodes_for_a_while_only(
        self,
    ) -> None:
        dead = self.services.pop(0)
        strange = self.enter('host1')
        dead.backend.leave()
        self.work(strange, rounds=1)
        self.assertEqual(self.before, self.owners())
        self.work(strange, rounds=2)
        self.assertEqual({'host2'}, set(self.owners().values()))

    def test_standby_has_the_time_to_take_the_place(self) -> None:
        dead = self.services.pop(0)
        standby = service.Service('host1', world.RING, self.shared)
        standby.beat()
        self.assertEqual('standby', standby.member.state.role)
        self.services.append(standby)
        dead.backend.leave()
        for _ in range(4):
            self.work()
            self.assertEqual(self.before, self.owners())
        self.assertNotEqual('standby', standby.member.state.role)
