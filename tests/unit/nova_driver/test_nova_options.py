from __future__ import annotations

import pathlib
import tempfile
import unittest

from ironic_ownership.contracts import exceptions
from ironic_ownership_nova.cell import nova_options


class TestRead(unittest.TestCase):
    """One test for each of the three old ways to share nodes."""

    def setUp(self) -> None:
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name, 'nova.conf')

    def settings(self, text: str) -> dict[tuple[str, str], str]:
        self.path.write_text(text)
        found = nova_options.read(str(self.path))
        assert found is not None
        self.assertEqual(str(self.path), found.path)
        return dict(found.settings)

    def test_ring_of_all(self) -> None:
        self.assertEqual(
            {('ownership', 'policies'): 'peer_list'},
            self.settings('[ironic]\npeer_list = host1,host2\n'),
        )

    def test_ring_in_a_conductor_group(self) -> None:
        self.assertEqual(
            {
                ('ownership', 'policies'): 'conductor_group,peer_list',
                ('ironic', 'conductor_group'): 'rack1',
                ('ironic', 'peer_list'): 'host1,host2',
            },
            self.settings(
                '[ironic]\nconductor_group = rack1\npeer_list = host1, host2\n'
            ),
        )

    def test_shard(self) -> None:
        self.assertEqual(
            {
                ('ownership', 'policies'): 'shard_key',
                ('ironic', 'shard_key'): 'A',
            },
            self.settings('[ironic]\nshard = A\npeer_list = host1\n'),
        )

    def test_machine_without_nova(self) -> None:
        self.assertIsNone(nova_options.read(str(self.path)))

    def test_unreadable_file_is_named(self) -> None:
        self.path.write_text('no configuration\n')
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            nova_options.read(str(self.path))
        self.assertIn('[nova] config_file', str(caught.exception))
        self.assertIn(str(self.path), str(caught.exception))


class TestDerivedPolicies(unittest.TestCase):
    def test_each_configuration_of_nova(self) -> None:
        for shard, group, policies, uses_peer_list in (
            (None, None, ('peer_list',), False),
            ('', None, ('peer_list',), False),
            (None, 'g', ('conductor_group', 'peer_list'), True),
            (None, '', ('conductor_group', 'peer_list'), True),
            ('s', None, ('shard_key',), False),
            ('s', 'g', ('shard_key', 'conductor_group'), False),
        ):
            self.assertEqual(
                nova_options.NovaPolicies(policies, uses_peer_list),
                nova_options.derive(shard, group),
                (shard, group),
            )
