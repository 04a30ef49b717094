"""Real Placements for tests: one a class, empty before each test."""

from __future__ import annotations

import pathlib
import shutil
import tempfile

import testtools
from oslo_config import cfg

from ironic_ownership.clients import placement as client
from ironic_ownership.clients import placement_options
from lab import placement


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


class PlacementTestCase(testtools.TestCase):
    """Tests of one class share a real Placement, without providers."""

    placement_server: placement.Placement

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        directory = tempfile.mkdtemp(prefix='placement-')
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        cls.placement_server = placement.Placement(pathlib.Path(directory))
        cls.placement_server.start()
        cls.addClassCleanup(cls.placement_server.stop)

    def setUp(self) -> None:
        super().setUp()
        self.placement_server.clear()

    def stop_placement(self) -> None:
        """Let Placement be down until the end of the test."""
        self.placement_server.stop()
        self.addCleanup(self.placement_server.start)
