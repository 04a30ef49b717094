from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership_nova.cell.model import Drift
from ironic_ownership_nova.cell.nova_tables import NovaTables
from ironic_ownership_nova.cell.port import SqlCell
from tests.unit.engine import service, world


class TestDrift(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(n, shard='a') for n in range(1, 4)))
        self.host = self.start('host1', world.runs(shard_key='a'))
        self.cell = mock.Mock(spec=SqlCell)
        self.cell.repair.side_effect = self.repair
        self.cell.follow_settings.return_value = ()
        self.drifted: list[Drift] = []
        self.cell.drift.side_effect = lambda host: list(self.drifted)
        self.tables = NovaTables(self.cell, mock.Mock())
        refresher = self.host.refresher
        ports = dataclasses.replace(
            refresher.context.ports, companion=self.tables
        )
        refresher.context = dataclasses.replace(refresher.context, ports=ports)

    def repair(
        self, host: str, epoch: int, uuids: Sequence[str]
    ) -> Sequence[str]:
        self.assertEqual(self.host.fence.epoch(), epoch)
        self.drifted = [d for d in self.drifted if d.uuid not in uuids]
        return uuids

    def drift(self, number: int, instance: str | None = None) -> None:
        self.drifted.append(
            Drift(world.uuid(number), 'host1', 'Stock', instance)
        )

    def test_settings_of_the_cell_are_followed_by_each_refresh(self) -> None:
        self.host.refresh()
        self.cell.drift.assert_called_once_with('host1')
        self.cell.repair.assert_not_called()
        self.cell.follow_settings.assert_called_once_with('host1')
        self.cell.follow_settings.return_value = ('host2',)
        with self.assertLogs('ironic_ownership_nova', 'WARNING') as logged:
            self.host.refresh()
        self.assertIn('host2', logged.output[0])

    def test_refresh_repeats_what_could_not_be_followed(self) -> None:
        self.cell.follow_settings.side_effect = exceptions.RecordsError('down')
        self.tables.try_to_follow_settings('host1')
        with self.assertRaises(exceptions.RecordsError):
            self.host.refresh()

    def test_free_row_is_corrected_and_the_node_served(self) -> None:
        self.host.refresh()
        self.drift(1)
        with self.assertLogs('ironic_ownership_nova', 'WARNING') as logged:
            self.host.refresh()
        self.assertIn('Stock', logged.output[0])
        self.assertEqual([], self.drifted)
        self.assertIn(world.uuid(1), self.host.feed.owned())

    def test_free_row_that_cannot_be_written_is_reported_once(self) -> None:
        """Another row names the node and the host."""
        self.cell.repair.side_effect = lambda *words: ()
        self.drift(1)
        with self.assertLogs('ironic_ownership_nova', 'ERROR') as logged:
            self.host.refresh()
            self.host.refresh()
        (line,) = logged.output
        self.assertNotIn('None', line)
        self.assertIn('cannot be corrected', line)
        self.assertNotIn(world.uuid(1), self.host.feed.owned())

    def test_row_without_a_host_is_reported_as_such(self) -> None:
        self.drifted.append(Drift(world.uuid(1), 'host1', None))
        with self.assertLogs('ironic_ownership_nova', 'WARNING') as logged:
            self.host.refresh()
        self.assertIn('named no host', logged.output[0])

    def test_node_with_an_instance_elsewhere_is_not_served(self) -> None:
        self.host.refresh()
        self.assertEqual(3, len(self.host.feed.owned()))
        self.drift(1, 'instance')
        with self.assertLogs('ironic_ownership_nova', 'ERROR') as logged:
            self.host.refresh()
            self.host.refresh()
        self.assertEqual(1, len(logged.output))
        self.assertNotIn(world.uuid(1), self.host.feed.owned())
        self.cell.repair.assert_not_called()
        self.drifted.clear()
        self.host.refresh()
        self.assertIn(world.uuid(1), self.host.feed.owned())
