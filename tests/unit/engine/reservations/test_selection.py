from __future__ import annotations

import collections
import random
import unittest
import uuid as uuid_
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reservations import Request
from ironic_ownership.engine import availability
from ironic_ownership.engine.reservations import selection
from tests.unit.engine.reservations import naive_selection

INSTANCE = '11111111-1111-4111-8111-111111111111'
OTHER = '22222222-2222-4222-8222-222222222222'
PROPERTIES = {
    'memory_mb': '131072',
    'cpus': '32',
    'local_gb': '960',
    'cpu_arch': 'x86_64',
    'capabilities': 'boot_mode:uefi,cores:4',
}


def request(**values) -> Request:
    return Request.from_mapping(
        {'instance_uuid': INSTANCE, 'service': 'one', **values}
    )


def node(number: int, **values) -> model.Node:
    return model.Node(
        **{
            'uuid': f'00000000-0000-4000-8000-{number:012x}',
            'name': f'node-{number}',
            'driver': 'ipmi',
            'provision_state': 'available',
            'power_state': 'power off',
            'resource_class': 'gold',
            'properties': PROPERTIES,
            'traits': ('CUSTOM_A', 'CUSTOM_B'),
            **values,
        }
    )


def evaluate(one: model.Node) -> str | None:
    return availability.evaluate(one).code


def removed(wish, *nodes: model.Node, **options) -> dict[str, int]:
    return dict(selection.choose(wish, nodes, evaluate, **options).removed)


def _zero(sizes: dict[str, int], *names: str) -> dict[str, object]:
    return {**sizes, 'extra_specs': {f'resources:{n}': '0' for n in names}}


_amounts = st.sampled_from((0, 1, 2, 4))
_specs = st.dictionaries(
    st.sampled_from(
        (
            'capabilities:cores',
            'capabilities:boot_mode',
            'capabilities:cpu_arch',
            'trait:CUSTOM_A',
            'trait2:CUSTOM_C',
            'resources:CUSTOM_GOLD',
            'resources:VCPU',
            'resources:MEMORY_MB',
            'resources:DISK_GB',
            'capabilities',
        )
    ),
    st.sampled_from(('0', '1')),
    max_size=4,
).map(
    lambda found: {
        key: {
            'trait': ('forbidden', 'required')[int(value)],
            'capabilities:': ('>= 2', '<or> uefi <or> 4')[int(value)],
            'capabilities': ('cores', 'cores:<in> 4,boot_mode')[int(value)],
        }.get(_kind(key), value)
        for key, value in found.items()
    }
)


def _kind(key: str) -> str:
    if key.startswith('trait'):
        return 'trait'
    return 'capabilities:' if key.startswith('capabilities:') else key


_requests = st.builds(
    request,
    resource_class=st.sampled_from((None, 'gold', 'silver')),
    traits=st.lists(st.sampled_from(('CUSTOM_A', 'CUSTOM_C')), max_size=2),
    forbidden_traits=st.lists(st.just('CUSTOM_B'), max_size=1),
    memory_mb=_amounts,
    vcpus=_amounts,
    root_gb=_amounts,
    ephemeral_gb=_amounts,
    swap=_amounts,
    extra_specs=_specs,
    image=st.sampled_from(
        (None, {'properties': {'hw_architecture': 'amd64'}})
    ),
    node=st.sampled_from((None, None, None, node(1).uuid, 'node-2')),
)
_sizes = st.sampled_from((None, '1', '2', 4, 2.0, 'many', True, ['2'], ''))
_properties = st.dictionaries(
    st.sampled_from(('memory_mb', 'cpus', 'local_gb')), _sizes
).flatmap(
    lambda sizes: st.fixed_dictionaries(
        {},
        optional={
            'cpu_arch': st.sampled_from(('x86_64', 'aarch64', '3')),
            'capabilities': st.sampled_from(
                (
                    'cores:4,boot_mode:uefi',
                    'cores:1',
                    'cores:false,boot_mode:',
                    'odd',
                    None,
                )
            ),
        },
    ).map(lambda more: {**sizes, **more})
)
_nodes = st.lists(
    st.fixed_dictionaries(
        {
            'resource_class': st.sampled_from(
                ('gold', 'silver', 'Gold', None)
            ),
            'instance_uuid': st.sampled_from((None, None, None, OTHER)),
            'maintenance': st.booleans(),
            'power_state': st.sampled_from((None, 'error', 'power off')),
            'provision_state': st.sampled_from(
                ('available', 'available', 'cleaning', 'active')
            ),
            'traits': st.sampled_from(
                ((), ('CUSTOM_A',), ('CUSTOM_A', 'CUSTOM_B'), ('CUSTOM_C',))
            ),
            'properties': _properties,
        }
    ),
    max_size=8,
).map(lambda found: [node(n, **values) for n, values in enumerate(found)])
_owned = st.sets(st.sampled_from([node(n).uuid for n in range(3)]))


class TestLaws(unittest.TestCase):
    @given(_requests, _nodes, _owned)
    def test_nodes_and_counts_are_those_of_the_naive_reference(
        self, wish, nodes, owned
    ) -> None:
        expected = collections.Counter(
            naive_selection.missed(wish, one, evaluate, owned) for one in nodes
        )
        fitting = expected.pop(None, 0)
        for few in (0, 1000):
            with mock.patch.object(selection, '_FEW', few):
                choice = selection.choose(wish, nodes, evaluate, owned=owned)
                self.assertEqual(dict(expected), dict(choice.removed))
                self.assertEqual(fitting, choice.fitting)
                self.assertEqual(len(nodes), choice.examined)
                self.assertEqual(bool(fitting), bool(choice.candidates))
                chosen = [
                    (n.uuid, n.resource_class) for n in choice.candidates
                ]
                self.assertEqual(len(chosen), len(dict(chosen)))
                self.assertLessEqual(len({name for _, name in chosen}), 1)
                for one in choice.candidates:
                    self.assertIsNone(
                        naive_selection.missed(wish, one, evaluate, owned)
                    )

    @given(_nodes, st.randoms(use_true_random=False))
    def test_order_of_the_nodes_does_not_matter(self, nodes, shuffled) -> None:
        before = selection.choose(request(), nodes, evaluate)
        shuffled.shuffle(nodes)
        self.assertEqual(before, selection.choose(request(), nodes, evaluate))


class TestConditions(unittest.TestCase):
    def test_each_condition_removes_what_does_not_fulfil_it(self) -> None:
        sizes = {'vcpus': 64, 'memory_mb': 4096, 'root_gb': 20, 'swap': 3}
        gold = {'resources:CUSTOM_BAREMETAL_GOLD': '1'}
        disk = {'properties': {'local_gb': '10'}}
        no_class = {'resource_class': 1}
        for wish, has, expected in (
            # The disk is root, ephemeral and swap together.
            ({'root_gb': 10}, disk, {}),
            ({'root_gb': 9, 'ephemeral_gb': 1}, disk, {}),
            ({'root_gb': 9, 'swap': 1024}, disk, {}),
            ({'root_gb': 9, 'swap': 1025}, disk, {'disk_gb': 1}),
            ({'root_gb': 10, 'swap': 1}, disk, {'disk_gb': 1}),
            ({'root_gb': 5, 'ephemeral_gb': 6}, disk, {'disk_gb': 1}),
            # Resources of a flavor hold instead of its fields.
            (sizes, {'properties': {}}, {'memory_mb': 1}),
            (_zero(sizes, 'VCPU', 'MEMORY_MB', 'DISK_GB'), {}, {}),
            (_zero(sizes, 'VCPU', 'MEMORY_MB'), disk, {'disk_gb': 1}),
            # Their class is Placement's name of it.
            ({'extra_specs': gold}, {'resource_class': 'baremetal.gold'}, {}),
            ({'extra_specs': gold}, {'resource_class': 'BareMetal-Gold'}, {}),
            (
                {'extra_specs': gold},
                {'resource_class': 'CUSTOM_BAREMETAL_GOLD'},
                no_class,
            ),
            ({'extra_specs': gold}, {}, no_class),
            ({'resource_class': 'gold', 'extra_specs': gold}, {}, no_class),
            ({}, {'resource_class': None}, no_class),
            ({}, {'resource_class': ''}, no_class),
            # A capability may be one of a few properties.
            ({'extra_specs': {'capabilities:cpu_arch': 's== x86_64'}}, {}, {}),
            (
                {'extra_specs': {'capabilities:vendor': 'acme'}},
                {'properties': {'vendor': 'acme'}},
                {'capabilities:vendor': 1},
            ),
        ):
            found = removed(request(**wish), node(1, **has))
            self.assertEqual(expected, found, (wish, has))

    def test_certain_node_is_found_by_uuid_or_name(self) -> None:
        nodes = [node(1), node(171, name='Odd')]
        for wanted in (nodes[1].uuid, nodes[1].uuid.upper(), 'Odd'):
            choice = selection.choose(request(node=wanted), nodes, evaluate)
            self.assertEqual((nodes[1],), choice.candidates)
        self.assertEqual({'node': 2}, removed(request(node='odd'), *nodes))

    def test_every_node_is_counted_for_the_first_condition_it_misses(
        self,
    ) -> None:
        wish = request(
            resource_class='gold',
            traits=['CUSTOM_A'],
            memory_mb=1024,
            extra_specs={'capabilities:boot_mode': 's== uefi'},
        )
        nodes = [
            node(1, instance_uuid=OTHER),
            node(2),
            node(3, resource_class='silver'),
            node(4, traits=()),
            node(5, properties={'memory_mb': 1000}),
            node(6, properties={'memory_mb': 1024}),
            node(7, maintenance=True),
            node(8),
            node(9, shard='b'),
        ]
        choice = selection.choose(
            wish,
            nodes,
            evaluate,
            owned={nodes[1].uuid},
            admits=lambda one: one.shard != 'b',
        )
        self.assertEqual(
            [
                ('instance', 1),
                ('owned', 1),
                ('resource_class', 1),
                ('trait:CUSTOM_A', 1),
                ('capabilities:boot_mode', 1),
                ('memory_mb', 1),
                ('policies', 1),
                ('maintenance', 1),
            ],
            list(choice.removed.items()),
        )
        self.assertEqual((nodes[7],), choice.candidates)


def drawn(nodes, instance: str = INSTANCE, limit: int = 10) -> list[str]:
    return [n.uuid for n in selection.sample(nodes, instance, limit)]


class TestDraw(unittest.TestCase):
    def test_few_of_many_are_drawn_and_others_for_another_instance(
        self,
    ) -> None:
        seed = random.Random(7)
        instances = [
            str(uuid_.UUID(int=seed.getrandbits(128))) for _ in range(100)
        ]
        for name, uuids in _UUIDS.items():
            nodes = [model.Node(u, resource_class='gold') for u in uuids]
            first = drawn(nodes)
            self.assertEqual(10, len(set(first)), name)
            self.assertEqual(first, drawn(nodes[::-1]), name)
            # Concurrent requests start at different nodes.
            firsts = {drawn(nodes, i, 1)[0] for i in instances}
            self.assertGreater(len(firsts), 90, name)

    def test_draws_do_not_depend_on_the_process(self) -> None:
        nodes = [node(number) for number in range(5000)]
        self.assertEqual(
            ['0f6', '5f6', '9f6'], [u[-3:] for u in drawn(nodes, limit=3)]
        )


def _random_uuids(count: int) -> list[str]:
    seed = random.Random(1)
    return [
        str(uuid_.UUID(int=seed.getrandbits(128), version=4))
        for _ in range(count)
    ]


_UUIDS = {
    'random': _random_uuids(3000),
    'counted': [node(number).uuid for number in range(3000)],
    'alike at the end': [f'{u[:-2]}aa' for u in _random_uuids(3000)],
}
