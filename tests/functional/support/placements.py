"""Real Placements for tests: one a process, empty before each test."""

from __future__ import annotations

import functools
import tempfile

import testtools
from oslo_config import cfg

from ironic_ownership.clients import options as client_options
from ironic_ownership.clients.placement import client
from lab import placement
from tests.functional.support import databases


def open_placement(options: dict[str, str]) -> client.PlacementClient:
    """Open a client as the programs do, from options of ``[placement]``."""
    lines = [f'{name} = {value}' for name, value in options.items()]
    conf = cfg.ConfigOpts()
    with tempfile.NamedTemporaryFile('w', suffix='.conf') as file:
        file.write('\n'.join(['[placement]', *lines, '']))
        file.flush()
        conf([], default_config_files=[file.name], default_config_dirs=[])
        opened = client_options.open_placement(conf)
    assert opened is not None
    return opened


@functools.cache
def _server() -> placement.Placement:
    return databases.started(placement.Placement, 'placement')


class PlacementTestCase(testtools.TestCase):
    """Tests of one process share a real Placement, without providers."""

    placement_server: placement.Placement

    def setUp(self) -> None:
        super().setUp()
        self.placement_server = _server()
        self.placement_server.start()
        self.placement_server.clear()

    def stop_placement(self) -> None:
        """Let Placement be down until the end of the test."""
        self.placement_server.stop()
        self.addCleanup(self.placement_server.start)
