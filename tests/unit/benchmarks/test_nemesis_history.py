"""The replay of the nemesis finds each broken law."""

from __future__ import annotations

import itertools
import unittest

from benchmarks.nemesis.history import History
from benchmarks.nemesis.observer import Event, Snapshot

HOSTS = ('ha', 'hb')


class HistoryTest(unittest.TestCase):
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

    def test_each_broken_law_is_found(self) -> None:
        claimed = ('owner_changed', 'ha', 'n', None, 'ha')
        taken = ('owner_changed', 'hb', 'n', 'ha', 'hb')
        opened = ('instance_opened', 'ha', 'n', None, None, 'i')
        fenced = ('service_fenced', 'hb', None, 'ha')
        moved = ('node_moved', 'op', 'n', 'ha', 'hb')
        deleted = ('node_forgotten', 'ha', 'n', 'ha')
        for events, found in (
            (
                [
                    *(claimed, opened),
                    ('instance_closed', 'ha', 'n', None, None, 'i'),
                    ('owner_changed', 'ha', 'n', 'ha', None),
                    ('owner_changed', 'hb', 'n', None, 'hb'),
                ],
                [],
            ),
            ([claimed, fenced, taken], []),
            (
                [claimed, taken],
                ['law 1: taken from ha, which is not fenced'],
            ),
            ([fenced, claimed], ['law 1: ha writes fenced']),
            (
                [(*claimed, None, None, 'ha2_1')],
                ['law 1: written by ha2_1, while ha_1 is active'],
            ),
            (
                [claimed, ('owner_changed', 'hb', 'n', None, 'hb')],
                ['law 1: the owner before was ha and not None'],
            ),
            (
                [claimed, opened, fenced, taken],
                ['law 2: has the instance i'],
            ),
            (
                [claimed, moved],
                ['law 1: moved from ha, which is not fenced'],
            ),
            (
                [
                    *(claimed, opened),
                    ('service_forced_down', 'op', None, 'ha'),
                    moved,
                ],
                ['law 7: the instance stays behind'],
            ),
            (
                [claimed, deleted],
                ['law 3: the record was deleted, the node was not'],
            ),
        ):
            with self.subTest(events):
                self.setUp()
                for event in events:
                    self.follow(*event)
                self.assertEqual(found, self.found)

    def test_deletion_of_a_deleted_node_is_lawful(self) -> None:
        self.claim('ha')
        self.deleted['n'] = 1.0
        self.follow('node_forgotten', 'ha', 'n', 'ha')
        self.assertEqual([], self.found)

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

    def test_records_that_differ_are_found(self) -> None:
        self.claim('ha')
        self.assertEqual(
            [], self.history.compare(Snapshot(owners={'n': 'ha'}))
        )
        self.assertEqual(
            ['node n: ha by the history, hb on record'],
            self.history.compare(Snapshot(owners={'n': 'hb'})),
        )
