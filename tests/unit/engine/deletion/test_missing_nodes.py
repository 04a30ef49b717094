from __future__ import annotations

import unittest
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.contract.suites import fake_bare_metal
from tests.unit.engine import world

RECHECK = 600.0


def uuids(*numbers: int) -> set[str]:
    return {world.uuid(number) for number in numbers}


class TestAbsentees(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = FakeClock()
        self.ironic = fake_bare_metal.FakeBareMetal()
        self.missing_nodes = missing_nodes.MissingNodes(
            self.ironic, missing_nodes.Limits(RECHECK, 0.25, 3), self.clock
        )

    def examine(
        self, *numbers: int, owned: int = 100, seconds: float = 0.0
    ) -> missing_nodes.Findings:
        self.ironic.calls.clear()
        return self.missing_nodes.examine(uuids(*numbers), owned, seconds)

    def asked(self) -> set[str]:
        return {uuid for method, uuid in self.ironic.calls if method == 'get'}

    def test_nothing_missing_asks_nothing(self) -> None:
        self.assertEqual(missing_nodes.Findings(), self.examine())
        self.assertEqual(set(), self.asked())

    def test_node_out_of_scope_is_elsewhere_and_one_with_404_is_gone(
        self,
    ) -> None:
        self.ironic.put(world.node(1, shard='b'))
        found = self.examine(1, 2)
        self.assertEqual((world.node(1, shard='b'),), found.elsewhere)
        self.assertEqual((world.uuid(2),), found.gone)
        self.assertEqual((1, False), (found.unexplained, found.mass_loss))

    def test_answer_is_remembered_until_it_is_due_again(self) -> None:
        self.ironic.put(world.node(1))
        self.examine(1, 2)
        self.clock.elapse(RECHECK - 1)
        found = self.examine(1, 2)
        self.assertEqual(set(), self.asked())
        self.assertEqual(((), ()), (found.elsewhere, found.gone))
        self.assertEqual((world.uuid(1),), found.remembered)
        self.assertEqual(1, found.unexplained)
        self.clock.elapse(1)
        found = self.examine(1, 2)
        self.assertEqual(uuids(1, 2), self.asked())
        self.assertEqual((world.uuid(2),), found.gone)

    def test_node_that_was_listed_again_is_asked_for_again(self) -> None:
        self.examine(2)
        self.examine()
        self.examine(2)
        self.assertEqual(uuids(2), self.asked())

    def test_node_that_was_gone_and_is_elsewhere_now_is_explained(
        self,
    ) -> None:
        self.examine(1)
        self.ironic.put(world.node(1))
        self.clock.elapse(RECHECK)
        self.assertEqual(0, self.examine(1).unexplained)
        # It stays explained until it is asked for again.
        self.missing_nodes.ask_again(uuids(1))
        found = self.examine(1)
        self.assertEqual((0, 0), (found.unexplained, found.pending))
        self.assertEqual((world.node(1),), found.elsewhere)

    def test_asked_again_when_told_to(self) -> None:
        self.examine(1, 2)
        self.missing_nodes.ask_again(uuids(1))
        self.examine(1, 2)
        self.assertEqual(uuids(1), self.asked())

    def test_those_never_looked_up_come_first(self) -> None:
        many = range(missing_nodes.LOOKUPS_A_ROUND)
        self.ironic.put(*map(world.node, range(len(many) + 1)))
        self.examine(*many, owned=10_000)
        self.missing_nodes.ask_again(uuids(*many))
        self.examine(*many, len(many), owned=10_000)
        self.assertIn(world.uuid(len(many)), self.asked())

    def test_a_longer_round_looks_more_of_them_up(self) -> None:
        most = missing_nodes.LOOKUPS_A_ROUND
        many = range(most + 90)
        self.ironic.put(*map(world.node, many))
        get = self.ironic.get

        def slow(uuid: str) -> model.Node | None:
            self.clock.elapse(0.5)
            return get(uuid)

        self.enterContext(mock.patch.object(self.ironic, 'get', slow))
        for seconds, looked_up in ((0.0, most), (most / 2 + 20, most + 40)):
            found = self.examine(*many, owned=10_000, seconds=seconds)
            self.assertEqual(looked_up, len(self.asked()))
            self.assertEqual(len(many) - looked_up, found.pending)
            self.examine()  # forgets the answers

    def test_nodes_not_looked_up_yet_count_as_lost(self) -> None:
        many = range(missing_nodes.LOOKUPS_A_ROUND + 50)
        self.ironic.put(*map(world.node, many))
        self.assertTrue(self.examine(*many, owned=190).mass_loss)
        self.assertFalse(self.examine(*many, owned=190).mass_loss)

    def test_mass_loss_is_seen_and_does_not_ask_for_every_node(self) -> None:
        found = self.examine(*range(80))
        self.assertTrue(found.mass_loss)
        self.assertEqual((80, 0), (found.unexplained, found.pending))
        self.assertEqual(26, len(self.ironic.calls))
        # Its end forgets the lost; nodes that are elsewhere are no loss.
        self.assertFalse(self.examine().mass_loss)
        self.ironic.put(*map(world.node, range(90)))
        self.assertFalse(self.examine(*range(90)).mass_loss)

    def test_look_up_that_fails_keeps_what_was_learned(self) -> None:
        self.ironic.put(world.node(1))
        self.examine(1)
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.examine(1, 2)
        self.assertEqual(uuids(2), self.asked())
        self.ironic.fail_with = None
        self.examine(1, 2)
        self.assertEqual(uuids(2), self.asked())
