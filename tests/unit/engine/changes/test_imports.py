"""The gates of an import, one by one."""

from __future__ import annotations

import dataclasses
import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine import gates, ports
from ironic_ownership.engine.changes import imports as import_nodes
from tests.unit.engine import world

SERVICE = model.Service('new', 1, settings=world.runs(shard_key='a'))


def failed(create: bool = False, **values) -> dict[str, str]:
    """Return the hints of the gates that do not pass, by their codes."""
    operation = import_nodes.ImportNodes(
        ports.Ports(None, None, None, world.interpret),  # type: ignore
        create=create,
        sharded=lambda: False,
    )
    case = import_nodes.ImportCase(
        operation,
        import_nodes.ImportEntry(world.uuid(1), 'new'),
        **{
            'record': None,
            'node': world.node(1, shard='a'),
            'service': SERVICE,
            'hosts': ['new'],
            **values,
        },
    )
    results = gates.evaluate(import_nodes.GATES, case)
    return {r.gate: r.hint for r in gates.refusals(results)}


class ImportGatesTest(unittest.TestCase):
    def test_each_gate_alone_stops_the_import(self) -> None:
        stopped = dataclasses.replace(SERVICE, fenced=True)
        down = dataclasses.replace(stopped, forced_down=True)
        for values, gate, hint in (
            ({'node': None}, 'node_exists', 'Remove it'),
            ({'record': world.record(1, 'old')}, 'not_owned', '--to new'),
            ({'service': None}, 'service_known', '--new-services'),
            ({'service': stopped}, 'service_may_write', 'Start it, and'),
            ({'service': down}, 'service_may_write', 'service set new --up'),
            ({'node': world.node(1, shard='b')}, 'admitted', 'change shard'),
        ):
            hints = failed(**values)
            self.assertEqual([gate], list(hints))
            self.assertIn(hint, hints[gate])

    def test_unowned_node_of_a_known_or_wanted_service_passes(self) -> None:
        unowned = world.record(1, None)
        for values in (
            {},
            {'record': unowned},
            {'service': None, 'create': True},
            # It has not registered yet, so its policies are unknown.
            {'service': model.Service('new', 0), 'node': world.node(1)},
        ):
            self.assertEqual({}, failed(**values))
