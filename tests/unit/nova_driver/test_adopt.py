from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Mapping, Sequence
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership_nova.cell import adopt, check
from ironic_ownership_nova.cell import model as cell
from ironic_ownership_nova.cell.nova_options import NovaConfiguration
from ironic_ownership_nova.cell.port import SqlCell
from tests.contract.suites import fake_bare_metal
from tests.unit.engine import world

ADOPTED, REFUSED = cell.State.ADOPTED, cell.State.REFUSED
UNCHANGED, RETURNED = cell.State.UNCHANGED, cell.State.RETURNED
BY = Origin('operator', 'req-1')


def row(number: int, host: str | None = 'Stock') -> cell.CellNode:
    uuid = world.uuid(number)
    return cell.CellNode(number, uuid, uuid, host, 7)


class TestAdoption(unittest.TestCase):
    def setUp(self) -> None:
        self.cell = mock.Mock(spec=SqlCell)
        self.cell.adopt.side_effect = self.adopt
        self.records = mock.Mock()
        self.records.services.return_value = []
        self.records.compute_nodes.return_value = []
        self.ironic = fake_bare_metal.FakeBareMetal(map(world.node, (1, 2)))
        self.operation = adopt.AdoptCell(
            self.cell, self.records, self.ironic, model.Scope()
        )

    def put(self, *rows: cell.CellNode) -> None:
        self.cell.read.return_value = cell.CellSnapshot(
            [cell.CellService(7, 'Stock')], rows, []
        )

    def adopt(
        self,
        nodes: Mapping[str, model.Node | None],
        origin: Origin,
    ) -> Sequence[cell.Result]:
        self.received, self.origin = dict(nodes), origin
        return [cell.Result(u, 'stock', ADOPTED) for u in nodes]

    def states(self) -> list[cell.State]:
        return [node.state for node in self.operation.propose()]

    def test_proposal_knows_records_and_faults(self) -> None:
        self.put(row(2), row(1), row(3), row(4, 'gone'))
        self.records.compute_nodes.return_value = [
            model.ComputeNode(world.uuid(1), 'stock'),
            model.ComputeNode(world.uuid(2), 'other'),
            model.ComputeNode(world.uuid(3), 'silent'),
        ]
        self.records.services.return_value = [
            model.Service('other', epoch=5, registered_at=1.0),
            # It was returned to Nova, or adopted.
            model.Service('silent', epoch=6),
        ]
        # In the order of the result.
        self.assertEqual([UNCHANGED, REFUSED, ADOPTED, REFUSED], self.states())
        self.cell.adopt.assert_not_called()

    def test_proposal_knows_instances(self) -> None:
        self.put(row(1), row(2, 'driver'), row(3))
        instances = [
            cell.CellInstance(world.uuid(90 + n), world.uuid(n), host)
            for n, host in ((1, 'Stock'), (2, 'driver'), (3, 'Stock'))
        ]
        self.cell.read.return_value = dataclasses.replace(
            self.cell.read.return_value,
            services=[cell.CellService(7, h) for h in ('Stock', 'driver')],
            instances=instances,
        )
        self.records.compute_nodes.return_value = [
            model.ComputeNode(world.uuid(1), 'stock'),
            model.ComputeNode(world.uuid(2), 'driver'),
            model.ComputeNode(world.uuid(3), 'stock', world.uuid(93)),
        ]
        self.records.services.return_value = [
            model.Service('stock'),
            model.Service('driver', epoch=5, registered_at=1.0),
        ]
        self.assertEqual([ADOPTED, UNCHANGED, UNCHANGED], self.states())

    def test_nodes_go_in_batches_with_what_ironic_has(self) -> None:
        self.put(*map(row, range(1, adopt.BATCH + 3)))
        done = self.operation.execute(self.operation.propose(), BY)
        self.assertEqual(adopt.BATCH + 2, len(done))
        self.assertEqual(2, self.cell.adopt.call_count)
        self.assertEqual({None}, set(self.received.values()))
        self.assertIs(BY, self.origin)

    def test_nodes_of_every_shard_and_group_are_described(self) -> None:
        self.put(row(1), row(2))
        self.ironic.nodes = {
            node.uuid: node
            for node in (
                world.node(1, shard='a'),
                world.node(2, shard='b', conductor_group='c'),
            )
        }
        for scope in (
            model.Scope(shard='a'),
            model.Scope(conductor_group='d'),
        ):
            operation = dataclasses.replace(self.operation, scope=scope)
            operation.execute(operation.propose(), BY)
            self.assertNotIn(None, self.received.values(), scope)

    def test_ironic_that_fails_adopts_nothing(self) -> None:
        self.put(row(1))
        proposed = self.operation.propose()
        self.operation.ironic.scan = mock.Mock(
            side_effect=exceptions.IronicUnavailableError('down')
        )
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.operation.execute(proposed, BY)
        self.cell.adopt.assert_not_called()


class TestReturn(unittest.TestCase):
    """host1 is alive, host2 was stopped, stock has never registered."""

    def setUp(self) -> None:
        self.cell = mock.Mock(spec=SqlCell)
        records, backend = mock.Mock(), mock.Mock()
        records.services.return_value = [
            model.Service('host1', registered_at=1.0),
            model.Service('host2', registered_at=1.0),
            model.Service('stock'),
        ]
        backend.view.return_value = model.View.of(
            [world.member('host1', world.ALL)]
        )
        self.operation = adopt.ReturnServices(self.cell, records, backend)

    def test_only_a_stopped_service_is_returned(self) -> None:
        found = self.operation.propose(['stock', 'HOST2', 'host1', 'host2'])
        self.assertEqual(
            [('host1', REFUSED), ('host2', RETURNED), ('stock', UNCHANGED)],
            [(one.host, one.state) for one in found],
        )
        self.assertIn('alive', found[0].detail or '')
        self.assertIn('member_ttl', found[0].detail or '')
        self.cell.return_service.assert_not_called()
        self.assertEqual(found, self.operation.execute(found, BY))
        self.cell.return_service.assert_called_once_with('host2', BY)

    def test_service_that_was_started_meanwhile_is_not_fenced(self) -> None:
        found = self.operation.propose(['host2'])
        # While the operator was asked.
        self.operation.backend.view.return_value = model.View.of(
            [world.member('host2', world.ALL)]
        )
        (result,) = self.operation.execute(found, BY)
        self.assertIs(REFUSED, result.state)
        self.cell.return_service.assert_not_called()

    def test_unknown_service_is_an_error_with_the_nearest_names(self) -> None:
        with self.assertRaises(exceptions.NotFoundError) as raised:
            self.operation.propose(['host'])
        self.assertIn('host1', raised.exception.hint or '')


class TestCheck(unittest.TestCase):
    def setUp(self) -> None:
        self.records, self.backend = mock.Mock(), mock.Mock()

    def findings(self, *peers: str) -> list[check.Finding]:
        found = cell.CellSnapshot([cell.CellService(1, 'Host1')], [], [])
        configuration = NovaConfiguration('nova.conf', None, peers, {})
        return list(check.of_configuration(configuration, found))

    def test_peer_that_the_cell_lacks_is_named(self) -> None:
        self.assertEqual([], self.findings('host1', 'HOST1'))
        (finding,) = self.findings('host1', 'host2')
        self.assertEqual(
            ('peer_unknown', ('host2',)), (finding.code, finding.subjects)
        )
        self.assertFalse(finding.prevents_adoption)

    def test_only_grants_are_reported_if_nothing_can_be_read(self) -> None:
        port = mock.Mock(spec=SqlCell)
        port.missing_grants.return_value = [
            cell.MissingGrant('SELECT on nova.services', 'GRANT SELECT ...')
        ]
        (found,) = check.of_cell(port, self.records, self.backend)
        self.assertEqual('grant_missing', found.code)
        self.assertIn('GRANT SELECT ...', found.hint)
        port.read.assert_not_called()

    def test_hint_of_a_deployed_drift_moves_the_node_to_its_instance(
        self,
    ) -> None:
        drift = cell.Drift(world.uuid(1), 'host1', 'Host2', 'instance')
        (found,) = self.drifted(drift)
        self.assertIn(
            f'compute node move {world.uuid(1)} --to host2', found.hint
        )

    def drifted(self, *drift: cell.Drift) -> list[check.Finding]:
        """Check rows: host1 is alive, host2 is dead, stock is adopted."""
        port = mock.Mock(spec=SqlCell)
        port.missing_grants.return_value = []
        port.read.return_value = cell.CellSnapshot([], [], [])
        port.drift.return_value = drift
        self.records.services.return_value = [
            model.Service('host1', registered_at=1.0),
            model.Service('host2', registered_at=1.0),
            model.Service('stock'),
        ]
        return check.of_cell(port, self.records, self.backend)

    def test_hint_of_a_free_drift_depends_on_its_owner(self) -> None:
        owners = 'host1', 'host2', 'stock'
        drift = [cell.Drift(world.uuid(1), owner, None) for owner in owners]
        self.backend.view.return_value = model.View.of(
            [world.member('host1', world.ALL)]
        )
        alive, dead, stock = (found.hint for found in self.drifted(*drift))
        self.assertIn('next refresh of host1', alive)
        self.assertIn('Start host2', dead)
        self.assertIn(f'compute node move {world.uuid(1)} ', dead)
        self.assertIn('nova adopt', stock)
        # A service that may be alive is not to be replaced.
        self.backend.view.side_effect = exceptions.MembershipError('down')
        _, unknown, _ = self.drifted(*drift)
        self.assertIn('next refresh of host2', unknown.hint)
        self.assertIn('names no host', unknown.what)

    def test_row_without_a_host_or_a_uuid_is_described(self) -> None:
        nodes = [row(1, None), dataclasses.replace(row(2), uuid=None)]
        instance = cell.CellInstance('i1', world.uuid(1), 'Stock')
        found = {
            one.code: one.what
            for one in check.of_snapshot(
                cell.CellSnapshot(
                    [cell.CellService(7, 'Stock')], nodes, [instance]
                )
            )
        }
        self.assertEqual('its row has no uuid', found['uuid_differs'])
        self.assertEqual(
            'its row names no host, its instance i1 names Stock',
            found['half_moved'],
        )

    def test_cell_that_agrees_has_no_finding(self) -> None:
        uuid = world.uuid(1)
        self.assertEqual(
            [],
            check.of_snapshot(
                cell.CellSnapshot(
                    [cell.CellService(7, 'Stock')],
                    [row(1)],
                    [cell.CellInstance('instance', uuid, 'Stock')],
                )
            ),
        )
