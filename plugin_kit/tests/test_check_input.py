"""Nodes of a file in the forms that operators have, and reads of sources."""

from __future__ import annotations

import itertools
import json
import pathlib
import tempfile
import unittest
from collections.abc import Sequence

from ironic_ownership.cli import errors
from ironic_ownership.contracts import model, options
from ironic_ownership_plugin_kit import check_input

_UUID = '6f1c0c4e-8f0a-4b3f-9a53-5a1d6f0e2b77'
_EXPECTED = model.Node(
    uuid=_UUID,
    name='rack1-node7',
    driver='ipmi',
    conductor_group='g1',
    shard='Rack1',
    power_state='power off',
    provision_state='available',
    maintenance=True,
    resource_class='gold',
    properties={'cpus': '8', 'rack': 'r1, left'},
    traits=('CUSTOM_GPU',),
    extra={'building': 'b1'},
)


class TestRead(unittest.TestCase):
    def read(self, text: str) -> Sequence[model.Node]:
        with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
            file.write(text)
            file.flush()
            return check_input.nodes_of(file.name)

    def test_list_of_the_client_is_read(self) -> None:
        listed = {
            'Clean Step': {},
            'Conductor Group': 'G1',
            'Driver': 'ipmi',
            'Extra': {'building': 'b1'},
            'Instance UUID': None,
            'Maintenance': True,
            'Name': 'rack1-node7',
            'Power State': 'power off',
            'Properties': "cpus='8', rack='r1, left'",
            'Provision State': 'available',
            'Resource Class': 'gold',
            'Shard': 'Rack1',
            'Traits': ['CUSTOM_GPU'],
            'UUID': _UUID,
        }
        self.assertEqual([_EXPECTED], self.read(json.dumps([listed])))
        short = {'UUID': _UUID, 'Provisioning State': 'available'}
        (node,) = self.read(json.dumps([short]))
        self.assertEqual('available', node.provision_state)

    def test_list_of_the_api_is_read(self) -> None:
        fields = {
            'uuid': _UUID,
            'name': 'rack1-node7',
            'driver': 'ipmi',
            'conductor_group': 'g1',
            'shard': 'Rack1',
            'power_state': 'power off',
            'provision_state': 'available',
            'maintenance': True,
            'resource_class': 'gold',
            'properties': {'cpus': '8', 'rack': 'r1, left'},
            'traits': ['CUSTOM_GPU'],
            'extra': {'building': 'b1'},
            'links': [],
        }
        for whole in ([fields], {'nodes': [fields]}):
            self.assertEqual([_EXPECTED], self.read(json.dumps(whole)))
        yaml = f'- uuid: {_UUID}\n  shard: Rack1\n'
        self.assertEqual([model.Node(_UUID, shard='Rack1')], self.read(yaml))

    def test_what_is_no_list_of_nodes_is_refused(self) -> None:
        for text, part in (
            ('{}', 'no list of nodes'),
            ('7', 'no list of nodes'),
            ('[{"name": "x"}]', 'node 1 has no uuid'),
            ('["x"]', 'node 1 has no uuid'),
            (json.dumps([{'uuid': _UUID}] * 2), 'node 2 has the uuid of'),
            ('[', 'neither JSON nor YAML'),
        ):
            with self.assertRaisesRegex(errors.UsageError, part):
                self.read(text)
        missing = str(pathlib.Path(tempfile.gettempdir()) / 'no-such-file')
        with self.assertRaises(errors.UsageError):
            check_input.nodes_of(missing)


class TestSources(unittest.TestCase):
    def test_equal_snapshots_are_one(self) -> None:
        sound = options.Source('racks', lambda given: ('r1', 'r2'), 'Racks.')
        self.assertEqual(
            (('r1', 'r2'), ''), check_input.snapshot_of(sound, {})
        )

    def test_source_that_differs_from_read_to_read_is_a_fault(self) -> None:
        numbers = itertools.count()
        flaps = options.Source('racks', lambda given: next(numbers), 'Racks.')
        _, error = check_input.snapshot_of(flaps, {})
        self.assertIn('two reads', error)
