from __future__ import annotations

import unittest
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership_nova.cell import return_services
from ironic_ownership_nova.cell.port import SqlCell
from tests.unit.engine import world

State = return_services.ReturnState


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
        self.operation = return_services.ReturnServices(
            self.cell, records, backend
        )

    def test_only_a_stopped_service_is_returned(self) -> None:
        found = self.operation.propose(['stock', 'HOST2', 'host1', 'host2'])
        self.assertEqual(
            [
                ('host1', State.REFUSED),
                ('host2', State.RETURNED),
                ('stock', State.UNCHANGED),
            ],
            [(one.host, one.state) for one in found],
        )
        self.assertIn('alive', found[0].detail or '')
        self.cell.return_service.assert_not_called()
        self.assertEqual(
            found, self.operation.execute(found, 'operator', 'req-1')
        )
        self.cell.return_service.assert_called_once_with(
            'host2', 'operator', 'req-1'
        )

    def test_unknown_service_is_an_error_with_the_nearest_names(self) -> None:
        with self.assertRaises(exceptions.NotFoundError) as raised:
            self.operation.propose(['host'])
        self.assertIn('host1', raised.exception.hint or '')
