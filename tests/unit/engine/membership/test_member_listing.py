"""The list of members: their roles, and when each had its last heartbeat."""

from __future__ import annotations

import unittest
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import (
    Condition,
    ConditionReport,
    Loop,
)
from ironic_ownership.engine.membership import member_listing
from tests.unit.engine import world


class TestTake(unittest.TestCase):
    def setUp(self) -> None:
        old, new = (world.member(host) for host in ('old', 'new'))
        newer = world.member('newer', world.NEWER)
        self.view = model.View.of([old, new, newer])
        self.records = mock.Mock()
        self.records.services.return_value = [
            model.Service('old', 1, incarnation=old.incarnation),
            model.Service('new', 1, incarnation='another'),
        ]
        self.records.condition_reports.return_value = {
            host: ConditionReport(host, f'incarnation of {host}', 9.0, found)
            for host, found in (
                ('old', (Condition(Loop.HEARTBEAT, 7.0),)),
                ('new', (Condition(Loop.HEARTBEAT),)),
                ('newer', (Condition(Loop.REFRESH, 8.0),)),
            )
        }

    def take(self) -> tuple[dict[str, tuple[object, ...]], int]:
        store = mock.Mock(view=lambda: self.view)
        found, doubts = member_listing.take(
            lambda: self.records, store, world.interpret
        )
        rows = {
            one.member.host: (one.role, one.readable, one.beaten_at)
            for one in found
        }
        return rows, len(doubts)

    def test_roles_and_heartbeats_are_on_record(self) -> None:
        expected = {
            'old': ('active', True, 7.0),
            'new': ('standby', True, None),
            'newer': ('standby', False, None),
        }
        self.assertEqual((expected, 0), self.take())

    def test_roles_are_unknown_without_the_records(self) -> None:
        self.records.services.side_effect = exceptions.RecordsError('away')
        found, doubts = self.take()
        self.assertEqual(1, doubts)
        self.assertEqual({'unknown'}, {role for role, _, _ in found.values()})
