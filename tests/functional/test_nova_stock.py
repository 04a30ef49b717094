"""Stock nova-computes of the lab behave as those of an operator.

What is compared with them elsewhere is only as honest as they are.
"""

from __future__ import annotations

from lab import process
from tests.functional.support import cell_laws, novas


class TestStockNova(novas.NovaTestCase):
    def start_two(self, *configs: novas.nova.Sections) -> None:
        for host, config in zip(
            ('host1', 'host2'), configs or ({}, {}), strict=True
        ):
            self.compute(host, 'stock', config).start()

    def test_two_services_share_nodes_and_boot_a_server(self) -> None:
        self.enrol(list(novas.GOLDEN))
        self.start_two()
        # The ring of each has both only after the other has had a node.
        self.cloud.wait_for_hosts(novas.GOLDEN)
        uuid, node = self.boot()
        self.assertEqual(novas.GOLDEN[node], self.instances()[0]['host'])
        self.api.reboot(uuid)
        self.api.wait_for_server(uuid, 'ACTIVE')
        self.delete_server(uuid, node)
        self.assertEqual(set(novas.GOLDEN), self.cloud.placement.providers())

    def test_free_node_of_another_shard_is_stolen_and_the_observer_sees_it(
        self,
    ) -> None:
        kept, stolen = list(novas.GOLDEN)[:2]
        self.enrol([kept, stolen], {kept: 'a', stolen: 'a'})
        self.start_two({'ironic': {'shard': 'a'}}, {'ironic': {'shard': 'b'}})
        self.cloud.wait_for_hosts({kept: 'host1', stolen: 'host1'})
        observer = cell_laws.CellObserver(self.cloud, exclusive=True).start()
        self.addCleanup(observer.stop)
        process.wait_for(lambda: observer.count, 'snapshot')
        self.enrolment.set_shard(stolen, 'b')
        self.cloud.wait_for_hosts({kept: 'host1', stolen: 'host2'})
        process.wait_for(lambda: observer.violations, 'violation')
        self.assertEqual(
            [f'stolen: {stolen}: host1 -> host2'], list(observer.violations)
        )
