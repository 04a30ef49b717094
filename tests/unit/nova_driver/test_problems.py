"""Rows of a Nova cell that do not agree with the records."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.checks import problem
from ironic_ownership.engine.queries.deployment import Part
from ironic_ownership_nova.cell import model as cell
from ironic_ownership_nova.cell.problems import CellRows
from tests.unit.engine import world
from tests.unit.engine.checks import test_runner


class TestDrift(test_runner.CheckCase):
    drift: Sequence[cell.Drift] = ()
    strays: Sequence[cell.CellNode] = ()
    hidden: frozenset[str] = frozenset()

    def companion(self) -> CellRows:
        return CellRows(self.drift, self.strays, self.hidden)

    def test_row_that_names_another_host_is_served_twice(self) -> None:
        self.drift = [
            cell.Drift(world.uuid(1), 'host1', 'Host2'),
            cell.Drift(world.uuid(2), 'host1', None),
        ]
        self.strays = [
            cell.CellNode(7, 'odd', world.uuid(3), 'Host1', 3),
            cell.CellNode(8, 'odd', world.uuid(4), None, 3),
        ]
        rows = self.companion()
        self.assertEqual({world.uuid(1), world.uuid(3)}, rows.twice)
        self.assertEqual({world.uuid(1), world.uuid(2)}, rows.drifted)

    def test_rows_that_agree_are_no_problem(self) -> None:
        self.assertEqual([], self.check())

    def test_free_node_of_a_live_service_is_corrected_by_it(self) -> None:
        self.drift = [cell.Drift(world.uuid(1), 'host1', 'Host2')]
        found = self.assert_found('row_drifted', world.uuid(1))
        self.assertIs(problem.Severity.WARNING, found.severity)
        self.assertEqual(('host1',), found.services)
        self.assertIn('Host2', found.what)
        self.assertIn('next refresh of host1', found.hint)

    def test_node_whose_instance_is_elsewhere_is_an_error(self) -> None:
        self.drift = [
            cell.Drift(world.uuid(n), 'host1', 'Host2', f'instance{n}')
            for n in (1, 3)
        ]
        found = self.assert_found(
            'row_drifted_deployed', world.uuid(1), world.uuid(3)
        )
        self.assertIs(problem.Severity.ERROR, found.severity)
        self.assertIn('compute node move UUID --to host2', found.hint)

    def test_dead_owner_is_named_as_the_one_to_start(self) -> None:
        self.members.pop(0)
        self.drift = [cell.Drift(world.uuid(1), 'host1', None)]
        found = self.assert_found('row_drifted', world.uuid(1))
        self.assertIn('Start host1', found.hint)
        self.assertIn('no host', found.what)

    def test_node_that_stock_nova_moved_is_adopted_again(self) -> None:
        self.services.append(model.Service('stock', forced_down=True))
        self.drift = [
            cell.Drift(world.uuid(1), 'stock', 'stock2'),
            cell.Drift(world.uuid(2), 'stock', 'stock2', 'instance'),
        ]
        for code in ('row_drifted', 'row_drifted_deployed'):
            hint = self.found(code).hint
            self.assertRegex(hint, '^Stock Nova moved it: .* nova adopt$')

    def test_row_with_another_uuid_gets_that_of_the_node(self) -> None:
        name = world.uuid(1)
        self.strays = [cell.CellNode(7, 'odd', name, 'Host1', 3)]
        found = self.assert_found('uuid_differs', name)
        self.assertIs(problem.Severity.ERROR, found.severity)
        self.assertEqual(('host1',), found.services)
        self.assertIn(f"SET uuid = '{name}' WHERE id = 7", found.hint)

    def test_row_that_was_replaced_is_deleted(self) -> None:
        self.strays = [
            cell.CellNode(7, 'odd', world.uuid(1), None, 3, replaced=True)
        ]
        found = self.assert_found('uuid_differs', world.uuid(1))
        self.assertEqual((), found.services)
        self.assertIn('SET deleted = id WHERE id = 7', found.hint)
        self.assertIn('provider delete odd', found.hint)

    def test_row_without_a_uuid_has_no_provider(self) -> None:
        for replaced, host in itertools.product(
            (True, False), ('Host1', None)
        ):
            self.strays = [
                cell.CellNode(7, None, world.uuid(1), host, 3, replaced)
            ]
            found = self.assert_found('uuid_differs', world.uuid(1))
            self.assertNotIn('None', found.what + found.hint)
            self.assertNotIn('provider', found.hint)
            self.assertIn('WHERE id = 7', found.hint)
            self.assertTrue(found.what.endswith('has no uuid'), found.what)
            self.assertEqual(host is not None, 'of Host1' in found.hint)

    def test_cell_that_does_not_answer_is_named_with_what_is_skipped(
        self,
    ) -> None:
        self.unread[Part.CELL] = exceptions.RecordsError('no grant')
        (found,) = self.check()
        self.assertIs(problem.Severity.UNKNOWN, found.severity)
        self.assertEqual(('cell',), found.subjects)
        self.assertIn('rows of the Nova cell', found.hint)
        self.assertNotIn('owners', found.hint)
        self.nodes.append(world.node(3, shard='c'))
        self.assert_found('unowned', world.uuid(3))

    def test_nodes_without_the_trait_of_nova_are_named(self) -> None:
        # The provider of something else is none of a node.
        self.hidden = frozenset((world.uuid(1), 'of a cell of Nova'))
        found = self.assert_found('hidden_from_nova', world.uuid(1))
        self.assertIn('OWNER_NOVA', found.what)
        self.assertEqual(('host1',), found.services)
