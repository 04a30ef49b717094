"""Questions of the commands that change a Nova cell."""

from __future__ import annotations

import types
import unittest
from unittest import mock

from ironic_ownership.contracts import model
from ironic_ownership_nova.cell import commands
from ironic_ownership_nova.cell import model as cell
from ironic_ownership_nova.cell.port import SqlCell
from tests.unit.engine import world


class TestAdoptNova(unittest.TestCase):
    def test_question_has_the_numbers_of_nodes_and_services(self) -> None:
        found = mock.Mock(spec=SqlCell)
        wiring = mock.Mock(scope=model.Scope())
        wiring.records.services.return_value = []
        wiring.records.compute_nodes.return_value = []
        command = commands.AdoptNova(
            types.SimpleNamespace(wiring=wiring), None
        )
        args = command.get_parser('test').parse_args([])
        for number, question in (
            (1, 'Adopt 1 node of 1 service'),
            (2, 'Adopt 2 nodes of 2 services'),
        ):
            hosts = [f'host{n}' for n in range(number)]
            found.read.return_value = cell.CellSnapshot(
                [cell.CellService(n, host) for n, host in enumerate(hosts)],
                [
                    cell.CellNode(n, world.uuid(n), world.uuid(n), host, n)
                    for n, host in enumerate(hosts)
                ],
                [],
            )
            with (
                mock.patch.object(commands, '_cell', return_value=found),
                mock.patch.object(
                    commands.change, 'confirm', side_effect=KeyboardInterrupt
                ) as confirm,
                self.assertRaises(KeyboardInterrupt),
            ):
                command.take_action(args)
            confirm.assert_called_once_with(args, question)
