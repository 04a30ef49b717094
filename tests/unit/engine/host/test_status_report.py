from __future__ import annotations

import itertools
import unittest
from unittest.mock import ANY

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import status_report
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Ports
from ironic_ownership_plugin_kit import fakes
from tests.unit.db import sqlite

VIEW = model.View()


class TestText(unittest.TestCase):
    def test_all_parts_come_back_as_they_were(self) -> None:
        for parts in itertools.product(
            (None, 'shard_key: no; really'),
            (None, "policy 'x' from y 1: X.assign failed; z"),
            (None, '2 changes of host1, at 10:00'),
            (None, 'that of host1 is 5.0 s ahead of that of host2'),
        ):
            status = status_report.Parts(*parts)
            text = status_report.text_of(status)
            self.assertEqual(status, status_report.parts_of(text))
        self.assertIsNone(status_report.text_of(status_report.Parts()))


class TestSelfReport(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = fakes.FakeClock()
        self.fence = fence.Fence(20, 1, self.clock)
        self.records = SqlRecords(self.open_with_schema())
        self.register()
        self.status = status_report.StatusReport(
            ServiceContext(
                'host1',
                Ports(self.records, ANY, ANY, ANY),
                self.fence,
                conditions.Conditions(),
                self.clock,
            )
        )

    def register(self) -> None:
        epoch = self.records.register('host1', model.MemberSettings())
        self.fence.open(self.clock(), epoch)

    def stored(self) -> str | None:
        (row,) = self.records.services()
        return row.config_error

    def test_status_is_stored_and_cleared(self) -> None:
        self.status.change(plugin_fault='it fails')
        self.status.store(VIEW)
        self.assertEqual('plugin fault: it fails', self.stored())
        self.status.change(config_error='no such option')
        self.status.store(VIEW)
        self.assertEqual(
            'no such option; plugin fault: it fails', self.stored()
        )
        self.status.change(config_error=None, plugin_fault=None)
        self.status.store(VIEW)
        self.assertIsNone(self.stored())

    def test_same_status_is_stored_again_only_after_a_registration(
        self,
    ) -> None:
        self.status.change(plugin_fault='it fails')
        self.status.store(VIEW)
        self.records.report(
            'host1', self.fence.epoch(), view_checksum='', config_error=None
        )
        self.status.store(VIEW)
        self.assertIsNone(self.stored())
        self.register()
        self.status.store(VIEW)
        self.assertEqual('plugin fault: it fails', self.stored())

    def test_fenced_service_stores_nothing(self) -> None:
        self.clock.elapse(60)
        with self.assertRaises(exceptions.FencedError):
            self.status.store(VIEW)


def rows(**revisions: int) -> dict[str, model.Service]:
    return {
        host: model.Service(host, revision=revision)
        for host, revision in revisions.items()
    }


class TestLostCommits(unittest.TestCase):
    def setUp(self) -> None:
        self.detector = status_report.LostCommits()
        self.assertEqual({}, self.detector.observe(rows(one=5, two=7)))

    def test_smaller_revision_is_a_loss_and_is_found_once(self) -> None:
        self.assertEqual({'two': 3}, self.detector.observe(rows(one=6, two=4)))
        self.assertEqual({}, self.detector.observe(rows(one=6, two=4)))

    def test_service_that_comes_or_goes_is_no_loss(self) -> None:
        self.assertEqual({}, self.detector.observe(rows(two=7, three=1)))
        self.assertEqual({}, self.detector.observe(rows(one=1, three=1)))


class TestClockSkew(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.conditions = conditions.Conditions()
        self.detector = status_report.ClockSkew('host2', 1.0, self.conditions)

    def observe(self, **ahead: float) -> str | None:
        return self.detector.observe(model.View(ahead=ahead))

    def test_tolerated_skew_is_not_reported(self) -> None:
        with self.assertNoLogs(conditions.__name__, 'WARNING'):
            self.assertIsNone(self.observe(host1=1.0))
        self.assertEqual({}, self.conditions.standing)

    def test_larger_skew_is_reported_once_until_it_changes(self) -> None:
        text = 'that of host1 is 30.2 s ahead of that of host2'
        with self.assertLogs(conditions.__name__, 'WARNING') as logs:
            self.assertEqual(text, self.observe(host1=30.2, host3=0.5))
            self.assertEqual(text, self.observe(host1=29.9))
        self.assertEqual(1, len(logs.output))
        self.assertIn(text, logs.output[0])
        self.assertIn('5.0 s ahead', self.observe(host1=5.0) or '')

    def test_end_is_logged(self) -> None:
        self.observe(host1=30.2)
        with self.assertLogs(conditions.__name__, 'INFO') as logs:
            self.assertIsNone(self.observe())
        self.assertIn('agree again', logs.output[0])
