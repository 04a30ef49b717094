"""Stock nova-computes of the lab share nodes as Nova's ring does.

What is compared with them elsewhere is only as honest as they are.
"""

from __future__ import annotations

from tests.functional.support import novas


class TestStockNova(novas.NovaTestCase):
    def test_two_services_share_free_nodes_as_the_golden_vectors(self) -> None:
        self.enrol(list(novas.GOLDEN))
        one, two = self.compute('host1'), self.compute('host2')
        one.start()
        self.assertEqual({'host1'}, set(self.cloud.compute_nodes().values()))
        two.start()
        self.cloud.wait_for_hosts(novas.GOLDEN)
        self.assertEqual(set(novas.GOLDEN), self.cloud.placement.providers())
        self.assertEqual([], self.cloud.neighbours.unknown)
