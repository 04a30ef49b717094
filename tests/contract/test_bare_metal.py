"""The fake bare_metal keeps the laws of the real one."""

from __future__ import annotations

import dataclasses
import uuid

import testtools

from ironic_ownership.contracts import exceptions, model
from tests.contract.suites import bare_metal, fake_bare_metal


class FakeBareMetalTest(bare_metal.BareMetalContract, testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.bare_metal = fake_bare_metal.FakeBareMetal(clock=self.clock)

    def enrol(
        self, count, *, shard=None, conductor_group='', instance_share=0.0
    ):
        nodes = [
            model.Node(
                str(uuid.uuid4()),
                f'node-{uuid.uuid4()}',
                shard=shard,
                conductor_group=conductor_group,
            )
            for _ in range(count)
        ]
        for number in range(round(count * instance_share)):
            nodes[number] = dataclasses.replace(
                nodes[number], instance_uuid=str(uuid.uuid4())
            )
        self.bare_metal.put(*nodes)
        return [node.uuid for node in nodes]

    def delete(self, uuid):
        del self.bare_metal.nodes[uuid]

    def clock(self):
        self.now += 1
        return self.now

    def change(self, uuid):
        node = self.bare_metal.nodes[uuid]
        self.bare_metal.put(dataclasses.replace(node, maintenance=True))

    def make_unavailable(self):
        self.bare_metal.fail_with = exceptions.IronicUnavailableError('down')

    def test_without_a_clock_it_does_not_tell_what_changed(self):
        self.bare_metal.clock = None
        self.enrol(1)
        self.assertIsNone(self.bare_metal.latest_changes(model.Scope(), 1))

    def test_one_method_can_fail_alone_and_calls_are_kept(self):
        self.bare_metal.failures['get'] = exceptions.IronicError('odd')
        self.assertEqual([], self.bare_metal.scan(model.Scope()))
        self.assertRaises(exceptions.IronicError, self.bare_metal.get, 'a')
        self.assertEqual(
            [('scan', model.Scope()), ('get', 'a')], self.bare_metal.calls
        )
