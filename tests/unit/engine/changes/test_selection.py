"""The lists by which many nodes are read from Ironic."""

from __future__ import annotations

import unittest
from unittest import mock

from ironic_ownership.contracts import model
from ironic_ownership.engine.changes import selection
from tests.contract.suites import fake_bare_metal
from tests.unit.engine import world

NUMBERS = range(1, 61)
UUIDS = [world.uuid(number) for number in NUMBERS]
SHARDS = {'old'}


class TestReadNodes(unittest.TestCase):
    """Sixty nodes, all of them recorded in the shard ``old``."""

    def read(
        self, shard: str | None, *, sharded: bool
    ) -> list[tuple[str, object]]:
        """Read the nodes, which Ironic has in one shard; return the calls."""
        ironic = fake_bare_metal.FakeBareMetal(
            world.node(number, shard=shard) for number in NUMBERS
        )
        found = self.reader(ironic, sharded).read_nodes(UUIDS, SHARDS)
        self.assertEqual(ironic.nodes, found)
        return ironic.calls

    def reader(
        self, ironic: fake_bare_metal.FakeBareMetal, sharded: bool
    ) -> selection.NodeReader:
        ports = mock.Mock(spec=['ironic'], ironic=ironic)
        return selection.NodeReader(ports, sharded=sharded)

    def test_nodes_of_a_shard_are_one_list(self) -> None:
        old = model.Scope(shard='old')
        for sharded in (False, True):
            self.assertEqual(
                [('scan', old)], self.read('old', sharded=sharded)
            )

    def test_nodes_of_a_renamed_shard_are_one_more_list(self) -> None:
        for sharded in (False, True):
            self.assertEqual(
                [
                    ('scan', model.Scope(shard='old')),
                    ('get', UUIDS[0]),
                    ('scan', model.Scope(shard='new')),
                ],
                self.read('new', sharded=sharded),
            )

    def test_nodes_that_lost_their_shard_are_in_the_list_of_all(self) -> None:
        self.assertEqual(
            [
                ('scan', model.Scope(shard='old')),
                ('get', UUIDS[0]),
                ('scan', model.Scope()),
            ],
            self.read(None, sharded=False),
        )

    def test_no_list_is_without_a_shard_if_each_has_to_name_one(self) -> None:
        self.assertEqual(
            [
                ('scan', model.Scope(shard='old')),
                *(('get', uuid) for uuid in UUIDS),
            ],
            self.read(None, sharded=True),
        )

    def test_nodes_that_ironic_does_not_have_are_asked_for(self) -> None:
        ironic = fake_bare_metal.FakeBareMetal(())
        found = self.reader(ironic, False).read_nodes(UUIDS, SHARDS)
        self.assertEqual(dict.fromkeys(UUIDS), found)
