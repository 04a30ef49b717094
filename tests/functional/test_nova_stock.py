"""Stock nova-computes of the lab behave as those of an operator.

What is compared with them elsewhere is only as honest as they are. How they
share nodes by a ring is in ``test_nova_runbooks``, which begins with them.
"""

from __future__ import annotations

from lab import process
from tests.functional.support import cell_laws, novas


class TestStockNova(novas.NovaTestCase):
    def test_server_boots_and_a_free_node_of_another_shard_is_stolen(
        self,
    ) -> None:
        used, stolen = list(novas.GOLDEN)[:2]
        self.enrol([used, stolen], {used: 'a', stolen: 'a'})
        computes = [
            self.compute(host, 'stock', {'ironic': {'shard': shard}})
            for host, shard in (('host1', 'a'), ('host2', 'b'))
        ]
        for compute in computes:
            compute.begin()
        for compute in computes:
            compute.wait()
        self.cloud.wait_for_hosts({used: 'host1', stolen: 'host1'})
        uuid, _ = self.boot(used)
        self.assertEqual('host1', self.instances()[0]['host'])
        self.api.reboot(uuid)
        self.api.wait_for_server(uuid, 'ACTIVE')
        observer = cell_laws.CellObserver(self.cloud, exclusive=True).start()
        self.addCleanup(observer.stop)
        process.wait_for(lambda: observer.count, 'snapshot')
        self.enrolment.set_shard(stolen, 'b')
        self.cloud.wait_for_hosts({used: 'host1', stolen: 'host2'})
        process.wait_for(lambda: observer.violations, 'violation')
        self.assertEqual(
            [f'stolen: {stolen}: host1 -> host2'], list(observer.violations)
        )
        observer.stop()
        self.delete_server(uuid, used)
        self.assertEqual({used, stolen}, self.cloud.placement.providers())
