from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.reconcile_plan import Plan
from tests.unit.engine import world


class TestDeprecation(unittest.TestCase):
    def warned(self, **policies: object) -> str:
        standing = conditions.Conditions()
        policy_set = world.interpret(world.runs(**policies))
        assert policy_set is not None
        OperatorLog('host1', standing).starts_with(policy_set)
        return standing.standing.get('deprecated at start', '')

    def test_replacement_is_advised(self) -> None:
        self.assertIn('[ironic] shard_key', self.warned(peer_list=()))
        self.assertEqual('', self.warned(all=None))

    def test_replacement_that_is_set_is_not_advised(self) -> None:
        for peers in ((), ('host1', 'host2')):
            text = self.warned(shard_key='a', peer_list=peers)
            self.assertNotIn('instead', text)
            self.assertIn('Remove it from [ownership] policies', text)


class TestContested(unittest.TestCase):
    def test_new_service_names_the_move(self) -> None:
        for owner, names in ((None, False), ('host1', True)):
            standing = conditions.Conditions()
            plan = Plan(contested={'a': None, 'b': owner})
            OperatorLog('host2', standing).planned(plan)
            text = standing.standing['contested']
            self.assertIn('compute node explain a', text)
            move = '"ironic-ownership compute node move b --to host2"'
            self.assertIs(names, move in text)
            self.assertIs(names, 'stop host1' in text)


class TestFaultsOfOthers(unittest.TestCase):
    def test_fault_of_each_node_is_one_line_in_a_refresh(self) -> None:
        found = OperatorLog('host1', conditions.Conditions())
        with self.assertLogs(conditions.__name__, 'WARNING') as logged:
            for number in range(5):
                found.fails_for_others(
                    ['host2'], exceptions.PluginFaultError(f'node {number}')
                )
            found.planned(Plan())
            found.fails_for_others(
                ['host2'], exceptions.PluginFaultError('another')
            )
        self.assertEqual(
            ['node 0', 'another'],
            [line.rpartition(': ')[2] for line in logged.output],
        )
