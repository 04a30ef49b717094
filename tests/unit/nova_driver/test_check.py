from __future__ import annotations

import unittest

from ironic_ownership_nova.cell import check
from ironic_ownership_nova.cell.model import CellService, CellSnapshot
from ironic_ownership_nova.cell.nova_conf import NovaConfiguration


class TestConfiguration(unittest.TestCase):
    def findings(self, *peers: str) -> list[check.Finding]:
        cell = CellSnapshot([CellService(1, 'Host1')], [], [])
        configuration = NovaConfiguration('nova.conf', None, peers, {})
        return list(check.of_configuration(configuration, cell))

    def test_peers_of_the_cell_are_fine_in_any_case(self) -> None:
        self.assertEqual([], self.findings('host1', 'HOST1'))

    def test_peer_that_the_cell_lacks_is_named(self) -> None:
        (finding,) = self.findings('host1', 'host2')
        self.assertEqual(
            ('peer_unknown', ('host2',)), (finding.code, finding.subjects)
        )
        self.assertFalse(finding.prevents_adoption)
