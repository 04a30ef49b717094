from __future__ import annotations

import unittest
from unittest.mock import Mock

from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host.condition_monitor import ConditionMonitor


class TestStore(unittest.TestCase):
    def test_refresh_that_did_something_else_is_stored_at_once(self) -> None:
        found = Conditions(lambda: 1000.0)
        member = Mock(is_standby=False)
        member.context.conditions = found
        store = member.context.ports.records.report_conditions
        monitor = ConditionMonitor(
            member, Mock(dead=()), lambda: 60.0, [Loop.REFRESH], ()
        )
        monitor.may_store = True
        for did, stored in (('nothing', 1), ('nothing', 1), ('claimed', 2)):
            found.succeeded(Loop.REFRESH, 1.0, did)
            monitor.store()
            self.assertEqual(stored, store.call_count, did)
        (condition,) = store.call_args.args[2]
        self.assertEqual('claimed', condition.did)
