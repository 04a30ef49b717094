"""Real Placements for tests: one a process, empty before each test."""

from __future__ import annotations

import atexit
import functools
import pathlib
import shutil
import tempfile

import testtools
from oslo_config import cfg

from ironic_ownership.clients.placement import client
from ironic_ownership.clients.placement import options as placement_options
from lab import placement
from tests.functional.support import databases


def open_placement(options: dict[str, str]) -> client.PlacementClient:
    """Open a client as the programs do, from options of ``[placement]``."""
    directory = tempfile.mkdtemp(prefix='placement-conf-')
    path = pathlib.Path(directory, 'a.conf')
    lines = [f'{name} = {value}' for name, value in options.items()]
    path.write_text('\n'.join(['[placement]', *lines, '']))
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(path)], default_config_dirs=[])
    opened = placement_options.open_placement(conf)
    shutil.rmtree(directory)
    assert opened is not None
    return opened


@functools.cache
def _server() -> placement.Placement:
    """Return the Placement of this test process, which ends with it."""
    server = placement.Placement(databases.temporary_directory('placement'))
    # Registered after the directory's removal, so it runs before it.
    atexit.register(server.stop)
    return server


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
