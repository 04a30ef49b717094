"""Instances that appear while a real host releases free nodes."""

from __future__ import annotations

from typing import Any

from tooz import hashring

from ironic_ownership.contracts.events import EventFilter
from tests.functional.support import hosts, ironics

_INSTANCE = '5a1f0c9e-7f3b-4d55-9c55-6f2f8f1b7a01'


class LateInstances(ironics.RecordingProxy):
    """Sets an instance after a list was read, and before it is answered."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.after_list = lambda associated: None

    def _ask(self, handler: Any) -> Any:
        answer = super()._ask(handler)
        if handler.path.startswith(('/v1/nodes?', '/v1/nodes/detail?')):
            self.after_list('associated' in handler.path)
        return answer


class ReleaseTest(hosts.HostsTestCase):
    """``host1`` owns every node; one of them belongs to ``host2``."""

    def setUp(self) -> None:
        super().setUp()
        self.proxy = LateInstances(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        nodes = self.enrolment.enrol(12)
        ring = hashring.HashRing(['host1', 'host2'], hash_function='md5')
        self.node = next(
            n for n in nodes if ring.get_nodes(n.encode()) == {'host2'}
        )
        self.deployment.start(
            'host1', ironic={'endpoint_override': self.proxy.url}
        )
        self.deployment.wait_for_owners(dict.fromkeys(nodes, 'host1'))

    def set_instance(self) -> None:
        self.proxy.after_list = lambda associated: None
        self.enrolment.set_instance(self.node, _INSTANCE)

    def share(self) -> None:
        """Let host2 join, until every other node is with its owner."""
        self.deployment.start('host2')
        self.deployment.wait_until(
            lambda: (
                self.deployment.owned_by('host2')
                and None not in self.deployment.owners().values()
            ),
            'shared nodes',
        )
        self.deployment.wait_until(self.is_recorded, 'instance on record')
        self.assertNotIn(self.node, self.deployment.owned_by('host2'))

    def is_recorded(self) -> bool:
        (node,) = self.deployment.records.compute_nodes_by_uuid([self.node])
        return (node.host, node.instance_uuid) == ('host1', _INSTANCE)

    def reasons(self) -> list[str | None]:
        events = self.deployment.records.events(
            EventFilter(node_uuid=self.node)
        )
        return [e.reason for e in events if e.kind == 'owner_changed'][::-1]

    def test_instance_since_the_list_keeps_the_node(self) -> None:
        def deploy(associated: bool) -> None:
            if 'host2' in self.deployment.members():
                self.set_instance()

        self.proxy.after_list = deploy
        self.share()
        self.assertEqual(['assigned'], self.reasons())

    def test_instance_at_the_release_brings_the_node_back(self) -> None:
        def deploy(associated: bool) -> None:
            if associated:
                self.set_instance()

        self.proxy.after_list = deploy
        self.share()
        self.assertEqual(['assigned', 'released', 'returned'], self.reasons())
