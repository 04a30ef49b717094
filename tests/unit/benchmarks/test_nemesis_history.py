"""The replay of the nemesis finds each broken law."""

from __future__ import annotations

import itertools

import testtools

from benchmarks.nemesis.history import History
from benchmarks.nemesis.observer import Event, Snapshot

HOSTS = ('ha', 'hb')


class HistoryTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.found: list[str] = []
        self.deleted: dict[str, float] = {}
        self.history = History(
            HOSTS,
            self.deleted,
            lambda law, text, event: self.found.append(f'{law}: {text}'),
        )
        self.ids = itertools.count(1)
        self.follow('service_registered', 'ha', target='ha')
        self.follow('service_registered', 'hb', target='hb')

    def follow(
        self,
        kind: str,
        actor: str,
        node: str | None = None,
        source: str | None = None,
        target: str | None = None,
        instance: str | None = None,
        reason: str | None = None,
        writer: str | None = None,
    ) -> None:
        number = next(self.ids)
        self.history.follow(
            Event(
                number,
                float(number),
                actor,
                kind,
                node,
                source,
                target,
                instance,
                reason,
                writer or f'{actor}_1',
            )
        )

    def claim(self, host: str, source: str | None = None, **more: str) -> None:
        self.follow('owner_changed', host, 'n', source, host, **more)

    def test_claim_instance_and_release_are_lawful(self) -> None:
        self.claim('ha')
        self.follow('instance_opened', 'ha', 'n', instance='i')
        self.follow('instance_closed', 'ha', 'n', instance='i')
        self.follow('owner_changed', 'ha', 'n', 'ha', None)
        self.claim('hb')
        self.assertEqual([], self.found)

    def test_take_over_after_the_fence_is_lawful(self) -> None:
        self.claim('ha')
        self.follow('service_fenced', 'hb', source='ha')
        self.claim('hb', 'ha')
        self.assertEqual([], self.found)

    def test_take_over_without_a_fence_is_found(self) -> None:
        self.claim('ha')
        self.claim('hb', 'ha')
        self.assertEqual(
            ['law 1: taken from ha, which is not fenced'], self.found
        )

    def test_write_after_the_fence_is_found(self) -> None:
        self.follow('service_fenced', 'hb', source='ha')
        self.claim('ha')
        self.assertEqual(['law 1: ha writes fenced'], self.found)

    def test_write_while_forced_down_is_found_until_it_registers(self) -> None:
        self.follow(
            'service_forced_down', 'op', source='ha', reason='forced_down=True'
        )
        self.follow('service_registered', 'ha', target='ha')
        self.claim('ha')
        self.assertEqual(['law 1: ha writes fenced'], self.found)
        self.follow(
            'service_changed', 'op', source='ha', reason='forced_down=False'
        )
        self.follow('service_registered', 'ha', target='ha')
        self.follow('owner_changed', 'ha', 'n', 'ha', None)
        self.assertEqual(1, len(self.found))

    def test_write_of_another_process_of_the_host_is_found(self) -> None:
        self.claim('ha', writer='ha2_1')
        self.assertEqual(
            ['law 1: written by ha2_1, while ha_1 is active'], self.found
        )

    def test_claim_of_an_owned_node_is_found(self) -> None:
        self.claim('ha')
        self.claim('hb')
        self.assertEqual(
            ['law 1: the owner before was ha and not None'], self.found
        )

    def test_change_of_owner_with_an_instance_is_found(self) -> None:
        self.claim('ha')
        self.follow('instance_opened', 'ha', 'n', instance='i')
        self.follow('service_fenced', 'hb', source='ha')
        self.claim('hb', 'ha')
        self.assertEqual(['law 2: has the instance i'], self.found)

    def test_move_from_a_running_service_is_found(self) -> None:
        self.claim('ha')
        self.follow('node_moved', 'op', 'n', 'ha', 'hb')
        self.assertEqual(
            ['law 1: moved from ha, which is not fenced'], self.found
        )

    def test_move_that_leaves_the_instance_is_found(self) -> None:
        self.claim('ha')
        self.follow('instance_opened', 'ha', 'n', instance='i')
        self.follow('service_forced_down', 'op', source='ha')
        self.follow('node_moved', 'op', 'n', 'ha', 'hb')
        self.assertEqual(['law 7: the instance stays behind'], self.found)

    def test_deletion_of_a_node_that_exists_is_found(self) -> None:
        self.claim('ha')
        self.follow('node_forgotten', 'ha', 'n', 'ha')
        self.assertEqual(
            ['law 3: the record was deleted, the node was not'], self.found
        )

    def test_deletion_of_a_deleted_node_is_lawful(self) -> None:
        self.claim('ha')
        self.deleted['n'] = 1.0
        self.follow('node_forgotten', 'ha', 'n', 'ha')
        self.assertEqual([], self.found)

    def test_records_that_differ_are_found(self) -> None:
        self.claim('ha')
        self.assertEqual(
            [], self.history.compare(Snapshot(owners={'n': 'ha'}))
        )
        self.assertEqual(
            ['node n: ha by the history, hb on record'],
            self.history.compare(Snapshot(owners={'n': 'hb'})),
        )
