"""Problems of conductors, and of nodes without a conductor."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.checks import problem
from tests.unit.engine import world
from tests.unit.engine.checks import test_runner

ONE, TWO = world.uuid(1), world.uuid(2)


def conductor(name: str, *drivers: str, **values) -> model.Conductor:
    return model.Conductor(name, drivers=frozenset(drivers), **values)


class TestConductors(test_runner.CheckCase):
    def setUp(self) -> None:
        super().setUp()
        self.nodes = [
            dataclasses.replace(node, driver='d') for node in self.nodes
        ]
        self.conductors = [
            conductor('c1', 'd', alive=False),
            conductor('c2', 'e'),
        ]

    def wait_to_come_back(self) -> None:
        self.records[0] = dataclasses.replace(
            self.records[0], unavailable='out_of_service'
        )

    def test_nodes_out_of_service_are_named_with_what_is_needed(self) -> None:
        found = self.assert_found('out_of_service', ONE, TWO)
        self.assertIs(problem.Severity.ERROR, found.severity)
        self.assertEqual(('host1', 'host2'), found.services)
        for word in ('2 nodes', "'d'", 'the default conductor group'):
            self.assertIn(word, found.what)
        self.assertIn('c1', found.hint)
        self.assertEqual(['out_of_service'], self.codes())

    def test_each_group_and_unowned_nodes_are_problems_of_their_own(
        self,
    ) -> None:
        self.nodes[1] = dataclasses.replace(self.nodes[1], conductor_group='g')
        found = [p for p in self.check() if p.code == 'out_of_service']
        self.assertEqual([(ONE,), (TWO,)], [p.subjects for p in found])
        self.assertIn("conductor group 'g'", found[1].what)
        self.records.pop()
        self.assert_found('out_of_service', ONE)
        found = self.assert_found('out_of_service_unowned', TWO)
        self.assertEqual((), found.services)

    def test_all_conductors_gone_is_one_problem_and_blames_no_node(
        self,
    ) -> None:
        self.conductors[1] = conductor('c2', alive=False)
        self.assert_found('no_conductor', 'c1', 'c2')
        self.assertEqual(['no_conductor'], self.codes())
        self.conductors = []
        self.wait_to_come_back()
        self.assert_found('no_conductor')
        self.assertEqual(['no_conductor'], self.codes())

    def test_conductors_that_are_not_shown_are_unknown(self) -> None:
        self.conductors = None
        self.unshown = exceptions.IronicError('403: not for you')
        found = self.assert_found('conductors_unknown', 'conductors')
        self.assertIs(problem.Severity.UNKNOWN, found.severity)
        self.assertIn('403: not for you', found.what)
        self.assertEqual(['conductors_unknown'], self.codes())

    def test_node_that_waits_to_come_back_is_only_a_warning(self) -> None:
        self.conductors = [conductor('c1', 'd')]
        self.wait_to_come_back()
        found = self.assert_found('out_of_service', ONE)
        self.assertIs(problem.Severity.WARNING, found.severity)
        self.assertIn('recovery_delay', found.hint)
