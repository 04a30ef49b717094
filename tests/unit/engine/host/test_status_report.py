from __future__ import annotations

import itertools
import unittest
from unittest.mock import ANY

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine.conditions import Conditions
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
                Conditions(),
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
        self.status.plugin_fault = 'it fails'
        self.status.store(VIEW)
        self.assertEqual('plugin fault: it fails', self.stored())
        self.status.config_error = 'no such option'
        self.status.store(VIEW)
        self.assertEqual(
            'no such option; plugin fault: it fails', self.stored()
        )
        self.status.config_error = self.status.plugin_fault = None
        self.status.store(VIEW)
        self.assertIsNone(self.stored())

    def test_same_status_is_stored_again_only_after_a_registration(
        self,
    ) -> None:
        self.status.plugin_fault = 'it fails'
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
