"""End of permissions, and answers of a guard that takes its time.

``tests/simulation`` lets events happen between any two steps of a guard.
"""

from __future__ import annotations

from collections.abc import Callable

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host.action_guard import Permission
from tests.unit.engine import service, world

LONGEST = 5.0
NODE = world.uuid(1)
DOWN = exceptions.RecordsUnavailableError('down')


class TestPermission(service.ServiceCase):
    """host1 owns node 1, which is deployed; host2 can get it."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(world.node(1, instance_uuid='i'))
        self.one = self.start('host1')
        self.one.refresh()
        self.two = self.start('host2')
        self.guard = self.one.guard(world.interpret(world.ALL), LONGEST)

    def down(self, down: bool = True) -> None:
        self.records.set_service('host1', actor='x', forced_down=down)

    def move(self, to: str = "'host2'") -> None:
        self.operator(f'UPDATE compute_nodes SET host = {to}')

    def tick(self) -> None:
        self.shared.clock.elapse(5)
        self.one.beat()

    def ask(self) -> Permission:
        return self.guard.check(NODE)

    def refuse(self, call: Callable[..., object], words: str) -> None:
        with self.assertRaises(exceptions.FencedError) as caught:
            call()
        self.assertIn(words, str(caught.exception))

    def test_what_happens_while_ironic_answers_counts(self) -> None:
        for words, events in (
            # Even if the node stayed.
            (
                'since it was permitted',
                [self.down, lambda: self.down(False), self.tick],
            ),
            # The service does not know of it yet.
            ('was fenced', [self.down, self.move, lambda: self.down(False)]),
            ('unowned', [lambda: self.move('NULL')]),
            ('', [self.tick] * 12),
        ):
            with self.subTest(words):
                self.setUp()

                def happen(events=events) -> None:
                    for event in events:
                        event()

                self.meanwhile(self.ironic, 'get', happen)
                if not words:
                    self.assertTrue(self.ask().is_valid)
                elif words == 'unowned':
                    self.assertRaises(exceptions.NotOwnerError, self.ask)
                else:
                    self.refuse(self.ask, words)

    def test_it_lasts_for_one_heartbeat_interval_unless_confirmed(
        self,
    ) -> None:
        found = self.ask()
        epoch = self.records.service('host1').epoch
        self.assertEqual(
            (NODE, 'host1', epoch), (found.node.uuid, found.host, found.epoch)
        )
        self.assertEqual(self.shared.clock() + LONGEST, found.deadline)
        for _ in range(10):
            self.assertEqual(LONGEST, found.remaining)
            self.tick()
            self.assertFalse(found.is_valid)
            found.confirm()

    def test_it_does_not_outlive_the_lease(self) -> None:
        self.shared.clock.elapse(service.TTL - service.MARGIN - 1)
        found = self.ask()
        self.assertEqual(1, found.remaining)
        self.one.beat()
        self.assertEqual(1, found.remaining)

    def read_while(self, event: Callable[[], object]) -> None:
        """Let something happen after each answer of the records."""
        read = type(self.records).service_and_node

        def slowly(*args: str) -> object:
            found = read(self.records, *args)
            event()
            return found

        self.records.service_and_node = slowly

    def test_it_counts_from_before_a_slow_read(self) -> None:
        elapse = self.shared.clock.elapse
        self.read_while(lambda: elapse(LONGEST - 1))
        self.assertEqual(1, self.ask().remaining)
        self.read_while(lambda: elapse(LONGEST))
        self.refuse(self.ask, 'too late')
        self.read_while(self.one.fence.drop)
        self.refuse(self.ask, 'no valid membership')

    def test_records_that_do_not_answer_confirm_nothing(self) -> None:
        found = self.ask()

        def fail(*args: str) -> None:
            raise DOWN

        self.records.service_and_node = fail
        self.assertRaises(exceptions.RecordsUnavailableError, found.confirm)
        self.assertEqual(LONGEST, found.remaining)

    def test_each_end(self) -> None:
        for words in (
            'forced down',
            'has registered again',
            'no valid membership',
            'has stopped to serve',
        ):
            with self.subTest(words):
                self.setUp()
                found = self.ask()
                self.end(words, found)
                self.assertFalse(found.is_valid)
                self.refuse(found.confirm, words)

    def end(self, words: str, found: Permission) -> None:
        match words:
            case 'forced down':
                self.down()
                self.assertTrue(found.is_valid)
                self.one.member.check_epoch()
            case 'has registered again':
                # As if the records had been restored from a backup.
                self.one.fence.drop()
                self.one.fence.open(self.shared.clock(), found.epoch)
            case 'no valid membership':
                self.shared.store.rows.clear()
                self.one.member.beat()
            case _:
                self.one.fence.close()

    def test_node_that_changed_owner_is_not_confirmed(self) -> None:
        found = self.ask()
        self.move()
        self.assertRaises(exceptions.NotOwnerError, found.confirm)
