"""Laws over a cell whose nova-computes have the driver of this project."""

from __future__ import annotations

from lab import process
from tests.functional.support import cell_laws, novas


class TestOurNova(novas.NovaTestCase):
    """Two services on the nodes of the golden vectors."""

    def observe(self, *, exclusive: bool = False) -> cell_laws.CellObserver:
        """Watch the cell until the end of the test, which fails by it."""
        observer = cell_laws.CellObserver(self.cloud, exclusive=exclusive)
        self.addCleanup(lambda: self.assertEqual({}, observer.violations))
        self.addCleanup(observer.stop)
        return observer.start()

    def start_ring(self) -> dict[str, novas.nova.Compute]:
        self.enrol(list(novas.GOLDEN))
        config = self.config_of_records(ownership={'policies': 'peer_list'})
        services = {
            host: self.compute(host, 'ours', config).start()
            for host in ('host1', 'host2')
        }
        self.cloud.wait_for_hosts(novas.GOLDEN)
        return services

    def wait_until_served(self, observer: cell_laws.CellObserver) -> None:
        process.wait_for(lambda: not observer.unserved(), 'live owners')

    def test_killed_and_frozen_services_lose_their_free_nodes_only(
        self,
    ) -> None:
        services = self.start_ring()
        _, node = self.boot()
        observer = self.observe()
        for host, compute in services.items():
            observer.died(host)
            compute.kill()
            self.wait_until_served(observer)
            self.assertEqual(
                novas.GOLDEN[node], self.cloud.compute_nodes()[node]
            )
            observer.returned(host)
            compute.start()
            self.cloud.wait_for_hosts(novas.GOLDEN)
        observer.died('host2')
        services['host2'].freeze()
        self.wait_until_served(observer)
        services['host2'].thaw()
        observer.returned('host2')
        self.cloud.wait_for_hosts(novas.GOLDEN)
