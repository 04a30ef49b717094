"""The lists by which many nodes are read from Ironic."""

from __future__ import annotations

import functools
import unittest
from unittest import mock

from ironic_ownership.contracts import model
from ironic_ownership.engine.changes import selection
from tests.contract.suites import fake_bare_metal
from tests.unit.engine import world

NUMBERS = range(1, 61)
UUIDS = [world.uuid(number) for number in NUMBERS]
OLD, NEW = (('scan', model.Scope(shard=shard)) for shard in ('old', 'new'))
ALL = 'scan', model.Scope()
FIRST, *LATER = (('get', uuid) for uuid in UUIDS)


class TestReadNodes(unittest.TestCase):
    """Sixty nodes, recorded in one shard and found in one."""

    def test_nodes_are_read_by_their_shards(self) -> None:
        for recorded, shard, sharded, calls in (
            ({'old'}, 'old', False, [OLD]),
            ({'old'}, 'old', True, [OLD]),
            # They are in another one, and one more list has them all.
            ({'old'}, 'new', False, [OLD, FIRST, NEW]),
            ({'old'}, 'new', True, [OLD, FIRST, NEW]),
            ({'old'}, None, False, [OLD, FIRST, ALL]),
            # With a shard key set every list names a shard.
            ({'old'}, None, True, [OLD, FIRST, *LATER]),
            ({'old', None}, 'old', True, [OLD]),
            ({'old', None}, 'old', False, [ALL]),
            ({'old', 'new'}, 'old', False, [NEW, OLD]),
            ({'old', *map(str, range(10))}, 'old', False, [ALL]),
        ):
            with self.subTest(recorded=recorded, shard=shard, sharded=sharded):
                nodes = [world.node(number, shard=shard) for number in NUMBERS]
                ironic = fake_bare_metal.FakeBareMetal(nodes)
                ports = mock.Mock(spec=['ironic'], ironic=ironic)
                law = functools.partial(bool, sharded)
                reader = selection.NodeReader(ports, sharded=law)
                found = reader.read_nodes(UUIDS, recorded)
                self.assertEqual(ironic.nodes, found)
                self.assertEqual(calls, ironic.calls)

    def test_nodes_that_ironic_does_not_have_are_asked_for(self) -> None:
        ironic = fake_bare_metal.FakeBareMetal(())
        ports = mock.Mock(spec=['ironic'], ironic=ironic)
        reader = selection.NodeReader(ports, sharded=lambda: False)
        found = reader.read_nodes(UUIDS, {'old'})
        self.assertEqual(dict.fromkeys(UUIDS), found)
