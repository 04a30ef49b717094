"""Sources of policies: read in the background, and never in the way."""

from __future__ import annotations

import dataclasses
import threading
import types
import unittest
from collections.abc import Mapping

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.contracts.options import Source
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host.source_reader import SourceReader
from ironic_ownership.engine.host.tuning import PolicySource, Snapshots, Tuning
from ironic_ownership_plugin_kit.fakes import FakeClock as Clock
from tests.unit.engine import service, world

KEY = 'zones', 'table'
REFUSED = 'refused'
PATH = {'path': '/there'}


class SourceCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = Clock()
        self.conditions = conditions.Conditions(self.clock)
        self.contents: object = ('a:1',)
        self.given: list[Mapping[str, model.Value]] = []
        self.followed: list[Tuning] = []
        self.accepts = True
        self.current = self.tuning({})
        # The case stands for the reload and for the context of its member.
        self.member = types.SimpleNamespace(context=self)
        self.reader = SourceReader(self)

    def read(self, options: Mapping[str, model.Value]) -> model.Value:
        self.given.append(options)
        if isinstance(self.contents, BaseException):
            raise self.contents
        return self.contents  # type: ignore[return-value]

    def tuning(self, snapshots: Snapshots) -> Tuning:
        if REFUSED in snapshots.values():
            raise exceptions.PolicySettingsError('no such zone')
        declared = Source(
            'table', self.read, 'A table.', interval=30, timeout=60
        )
        origin = "policy 'zones' from their-zones 1.0"
        return dataclasses.replace(
            service.tuning_of(world.ALL),
            sources=(PolicySource('zones', origin, declared, PATH),),
            snapshots=dict(snapshots),
            rebuild=self.tuning,
        )

    def change_source(self, **values: object) -> None:
        (source,) = self.current.sources
        self.current = dataclasses.replace(
            self.current, sources=(dataclasses.replace(source, **values),)
        )

    def follow(self, wanted: Tuning, instead_of: Tuning) -> bool:
        self.assertIs(self.current, instead_of)
        self.followed.append(wanted)
        if self.accepts:
            self.current = wanted
        return self.accepts

    def condition(self) -> Condition:
        (found,) = self.conditions.of_loops([Loop.SOURCES])
        return found


class TestBegin(SourceCase):
    def test_all_sources_are_read_before_the_service_joins(self) -> None:
        """One that can't be read, or is refused, is read again."""
        for fault, words in (
            (LookupError('no such file'), 'LookupError'),
            (SystemExit(0), 'SystemExit'),
            (REFUSED, 'no such zone'),
        ):
            self.contents = fault
            with self.assertRaises(exceptions.OwnershipError) as caught:
                self.reader.begin()
            self.assertIn(words, str(caught.exception))
            if fault is not REFUSED:
                self.assertIsInstance(caught.exception, exceptions.SourceError)
                self.assertIn(
                    "the source 'table' of policy 'zones' from their-zones",
                    str(caught.exception),
                )
        self.contents = ('a:1',)
        self.assertEqual({KEY: ('a:1',)}, self.reader.begin().snapshots)
        self.assertEqual([PATH] * 4, self.given)
        self.assertEqual(1000.0, self.condition().succeeded_at)


class TestReading(SourceCase):
    def setUp(self) -> None:
        super().setUp()
        self.current = self.reader.begin()
        self.given.clear()

    def due(self) -> None:
        self.clock.elapse(30)
        self.reader.step()

    def test_it_is_read_when_it_is_due(self) -> None:
        self.clock.elapse(29)
        self.reader.step()
        self.assertEqual([], self.given)
        self.clock.elapse(1)
        self.reader.step()
        self.assertEqual(1, len(self.given))
        self.assertEqual([], self.followed)
        self.assertEqual(1030.0, self.condition().succeeded_at)

    def test_change_is_offered_until_it_is_accepted(self) -> None:
        self.contents, self.accepts = 'new', False
        self.due()
        self.reader.step()
        self.assertEqual(2, len(self.followed))
        self.accepts = True
        for _ in range(2):
            self.reader.step()
        self.assertEqual(3, len(self.followed))
        self.assertEqual({KEY: 'new'}, self.current.snapshots)

    def test_change_that_is_refused_is_offered_after_growing_pauses(
        self,
    ) -> None:
        self.follow = lambda wanted, _: bool(
            self.followed.append(wanted) or True
        )
        self.contents = 'other'
        self.clock.elapse(30)
        offered = []
        for _ in range(29):
            before = len(self.followed)
            self.clock.elapse(self.reader.step())
            offered.append(len(self.followed) > before)
        self.assertEqual(
            [0, 2, 6, 14], [n for n, found in enumerate(offered) if found]
        )

    def test_changed_options_are_read_with_at_once(self) -> None:
        self.change_source(options={'path': '/elsewhere'})
        self.reader.step()
        self.assertEqual([{'path': '/elsewhere'}], self.given)

    def test_fault_keeps_the_last_snapshot_and_is_named(self) -> None:
        for fault, words in (
            (OSError('no such file'), 'OSError: no such file'),
            (SystemExit(0), 'SystemExit: 0'),
            (object(), 'returned a object'),
            (('a', 1), 'returned a tuple'),
            (float('nan'), 'returned a float'),
            ('x' * 70_000, '60000 bytes'),
            (REFUSED, 'no such zone'),
        ):
            with self.subTest(words):
                self.contents = fault
                self.due()
                found = self.condition()
                self.assertEqual('source', found.code)
                self.assertIn('from their-zones 1.0', found.error)
                self.assertIn(words, found.error)
                self.assertEqual([], self.followed)
                self.contents = ('a:1',)
                self.due()
                self.assertFalse(self.condition().fails)
                self.assertEqual(self.clock(), self.condition().succeeded_at)

    def hang(self) -> threading.Event:
        """Let the source return its path, and ``/there`` after an event."""
        end = threading.Event()
        self.addCleanup(end.set)

        def read(options: Mapping[str, model.Value]) -> model.Value:
            if options == PATH:
                end.wait()
            return options['path']

        (source,) = self.current.sources
        self.change_source(
            source=dataclasses.replace(source.source, read=read, timeout=0.2)
        )
        self.due()
        return end

    def end(self, hanging: threading.Event) -> None:
        hanging.set()
        for thread in threading.enumerate():
            if thread.name.startswith("call of ('zones', 'table', "):
                thread.join(60)

    def test_source_that_hangs_is_left_alone_until_it_ends(self) -> None:
        hanging = self.hang()
        self.assertIn('not been read after 0.2 s', self.condition().error)
        self.due()
        self.assertTrue(self.condition().fails)
        self.assertEqual([], self.followed)
        self.end(hanging)
        self.due()
        self.assertEqual({KEY: '/there'}, self.current.snapshots)
        self.assertFalse(self.condition().fails)

    def test_late_snapshot_of_earlier_options_does_not_count(self) -> None:
        hanging = self.hang()
        self.change_source(options={'path': '/elsewhere'})
        self.end(hanging)
        self.reader.step()
        self.assertEqual({KEY: '/elsewhere'}, self.followed[-1].snapshots)
