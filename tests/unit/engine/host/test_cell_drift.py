from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from unittest import mock

from ironic_ownership.contracts.cell import Cell, Drift
from tests.unit.engine import service, world


class TestDrift(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(n, shard='a') for n in range(1, 4)))
        self.host = self.start('host1', world.runs(shard_key='a'))
        self.cell = mock.create_autospec(Cell, instance=True)
        self.cell.repair.side_effect = self.repair
        self.drifted: list[Drift] = []
        self.cell.drift.side_effect = lambda host: list(self.drifted)
        context = self.host.refresher._cell_drift.context
        self.host.refresher._cell_drift.context = dataclasses.replace(
            context, ports=dataclasses.replace(context.ports, cell=self.cell)
        )

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

    def test_rows_are_read_once_in_a_refresh(self) -> None:
        self.host.refresh()
        self.cell.drift.assert_called_once_with('host1')
        self.cell.repair.assert_not_called()

    def test_free_row_is_corrected_and_the_node_served(self) -> None:
        self.host.refresh()
        self.drift(1)
        with self.assertLogs(service.LOGGER, 'WARNING') as logged:
            self.host.refresh()
        self.assertIn('Stock', logged.output[0])
        self.assertEqual([], self.drifted)
        self.assertIn(world.uuid(1), self.host.feed.owned())

    def test_node_with_an_instance_elsewhere_is_not_served(self) -> None:
        self.host.refresh()
        self.assertEqual(3, len(self.host.feed.owned()))
        self.drift(1, 'instance')
        with self.assertLogs(service.LOGGER, 'ERROR') as logged:
            self.host.refresh()
            self.host.refresh()
        self.assertEqual(1, len(logged.output))
        self.assertNotIn(world.uuid(1), self.host.feed.owned())
        self.cell.repair.assert_not_called()
        self.drifted.clear()
        self.host.refresh()
        self.assertIn(world.uuid(1), self.host.feed.owned())
