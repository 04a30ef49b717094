"""Any node of any answer becomes a sane value, or is dropped."""

from __future__ import annotations

import testtools
from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.clients.ironic.nodes import FIELDS as READ
from ironic_ownership.clients.ironic.nodes import NodeReader
from ironic_ownership.contracts import bare_metal, model

UUID = '00000000-0000-4000-8000-000000000001'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    sorted({*READ, *bare_metal.NODE_FIELDS, 'extra'} - {'uuid'})
)


def read(**fields):
    return NodeReader().read({'uuid': UUID, **fields})


class ReadTest(testtools.TestCase):
    def test_requested_fields_are_read_by_name_and_key(self):
        keys = 'driver_info.ipmi_address', 'driver_info.none'
        info = {'ipmi_address': 'a', 'ipmi_password': '***'}
        node = NodeReader(('extra', 'owner', *keys)).read(
            {'uuid': UUID, 'owner': 'p1', 'driver_info': info}
        )
        self.assertEqual(
            {'owner': 'p1', keys[0]: 'a', keys[1]: None}, node.fields
        )

    @given(st.dictionaries(FIELDS, JSON))
    def test_any_node_with_a_uuid_becomes_a_sane_value(self, fields):
        node = read(**fields)
        self.assertEqual(UUID, node.uuid)
        for name in ('driver', 'conductor_group'):
            self.assertIsInstance(getattr(node, name), str)
        for name in ('name', 'shard', 'instance_uuid', 'provision_state'):
            value = getattr(node, name)
            self.assertTrue(
                value is None or (isinstance(value, str) and value)
            )
        self.assertEqual(node.conductor_group, node.conductor_group.lower())
        self.assertIsInstance(node.maintenance, bool)
        self.assertIsInstance(node.retired, bool)
        self.assertIsInstance(node.properties, dict)
        self.assertIsInstance(node.extra, dict)
        self.assertTrue(all(isinstance(t, str) for t in node.traits))
        self.assertIsInstance(hash(node.traits), int)

    @given(JSON)
    def test_node_without_a_usable_uuid_is_dropped(self, data):
        self.assertIsNone(NodeReader().read(data))
        self.assertIsNone(NodeReader().read({'uuid': data}))

    @given(JSON)
    def test_odd_instance_is_an_instance(self, value):
        self.assertIs(
            bool(value), bool(read(instance_uuid=value).instance_uuid)
        )

    def test_flags_are_read_from_texts_and_numbers(self):
        for value in (True, 'true', 'True', '1', 1, 'yes', 'on', 'odd'):
            self.assertIs(True, read(maintenance=value).maintenance)
        for value in (False, None, 'false', 'FALSE', ' ', '0', 0, 'no', ''):
            self.assertIs(False, read(maintenance=value).maintenance)

    def test_text_is_one_that_every_database_takes(self):
        for text in ('a\0b', 'a\ud800b'):
            node = read(name=text, shard=text)
            self.assertEqual(('a?b', 'a?b'), (node.name, node.shard))
        self.assertEqual('ä\n', read(name='ä\n').name)

    def test_mapping_that_no_policy_could_copy_is_empty(self):
        deep = []
        for _ in range(900):
            deep = [deep]
        self.assertEqual({}, read(properties={'a': deep}).properties)
        self.assertEqual({}, read(extra={'a': {'b': deep}}).extra)

    def test_plain_node_keeps_everything(self):
        fields = {
            'name': 'n',
            'driver': 'ipmi',
            'conductor_group': 'Rack-A',
            'shard': 'Shard-A',
            'instance_uuid': 'i',
            'provision_state': 'active',
            'target_provision_state': 'deleted',
            'power_state': 'power on',
            'target_power_state': 'power off',
            'maintenance': True,
            'retired': True,
            'reservation': 'conductor',
            'resource_class': 'gold',
            'properties': {'a': {'b': [1]}},
            'traits': ['T2', 'T1', 'T2'],
            'extra': {'rack': 'r1', 'unit': 7},
        }
        shaped = {'conductor_group': 'rack-a', 'traits': ('T1', 'T2')}
        self.assertEqual(
            model.Node(UUID, **{**fields, **shaped}), read(**fields)
        )

    def test_equal_parts_of_nodes_exist_once(self):
        reader = NodeReader()

        def one():
            return reader.read(
                {
                    'uuid': UUID,
                    'shard': ''.join(['sha', 'rd']),
                    'properties': {'cpus': 4},
                    'traits': ['B', 'A'],
                }
            )

        first, second = one(), one()
        for name in ('shard', 'properties', 'traits'):
            self.assertIs(getattr(first, name), getattr(second, name))
        # Similar ones are not shared.
        kinds = [1, '1', True, 1.0, 'True', None, 'None']
        for kind in kinds * 2:
            node = reader.read({'uuid': UUID, 'properties': {'x': kind}})
            self.assertIs(type(kind), type(node.properties['x']))
