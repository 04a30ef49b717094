from __future__ import annotations

import pathlib
import tempfile
import unittest

from ironic_ownership.contracts import exceptions
from ironic_ownership_nova.cell import nova_options


class TestRead(unittest.TestCase):
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

    def test_each_way_to_share_nodes_has_its_policies(self) -> None:
        ring = {
            ('ownership', 'policies'): 'conductor_group,peer_list',
            ('ironic', 'conductor_group'): 'rack1',
            ('ironic', 'peer_list'): 'host1,host2',
        }
        shard = {
            ('ownership', 'policies'): 'shard_key',
            ('ironic', 'shard_key'): 'A',
        }
        for text, settings in (
            (
                'peer_list = host1,host2\n',
                {('ownership', 'policies'): 'peer_list'},
            ),
            ('conductor_group = rack1\npeer_list = host1, host2\n', ring),
            ('partition_key = rack1\npeer_list = host1, host2\n', ring),
            ('shard = A\npeer_list = host1\n', shard),
        ):
            self.assertEqual(settings, self.settings(f'[ironic]\n{text}'))

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
