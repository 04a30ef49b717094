from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reservations import Request
from ironic_ownership.engine import availability
from ironic_ownership.engine.reservations import selection

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


def having(**properties: object) -> dict[str, object]:
    """Return the values of a node with these properties."""
    return {'properties': {**PROPERTIES, **properties}}


def needing(**specs: str) -> dict[str, object]:
    """Return a request with capabilities."""
    return {'extra_specs': {f'capabilities:{n}': s for n, s in specs.items()}}


def _zero(sizes: dict[str, int], *names: str) -> dict[str, object]:
    return {**sizes, 'extra_specs': {f'resources:{n}': '0' for n in names}}


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
            # A size is a number, in any form.
            *(
                ({'memory_mb': 1, 'vcpus': 1}, having(cpus=value), {})
                for value in (True, 2.0, '1', '1.5')
            ),
            *(
                ({'vcpus': 1}, having(cpus=value), {'vcpus': 1})
                for value in (0, 'many', '', None, ['2'])
            ),
            # Required and forbidden, of the request and of its flavor.
            ({'traits': ['CUSTOM_A']}, {}, {}),
            ({'traits': ['CUSTOM_C']}, {}, {'trait:CUSTOM_C': 1}),
            (
                {'forbidden_traits': ['CUSTOM_C', 'CUSTOM_B']},
                {},
                {'forbidden_trait:CUSTOM_B': 1},
            ),
            (
                {'extra_specs': {'trait2:CUSTOM_C': 'required'}},
                {},
                {'trait:CUSTOM_C': 1},
            ),
            (
                {'extra_specs': {'trait:CUSTOM_A': 'forbidden'}},
                {},
                {'forbidden_trait:CUSTOM_A': 1},
            ),
            # An architecture has several names.
            *(
                (
                    {'image': {'properties': {'hw_architecture': wanted}}},
                    having(cpu_arch=arch),
                    {} if fits else {'architecture': 1},
                )
                for wanted, arch, fits in (
                    ('amd64', 'x86_64', True),
                    ('x86_64', ' AMD64', True),
                    ('x86_64', 'aarch64', False),
                    ('x86_64', None, False),
                )
            ),
            # A capability may be one of a few properties.
            (needing(cpu_arch='s== x86_64'), {}, {}),
            (needing(cores='>= 4', boot_mode='<or> uefi <or> bios'), {}, {}),
            (needing(cores='>= 5'), {}, {'capabilities:cores': 1}),
            (needing(gpus='>= 1'), {}, {'capabilities:gpus': 1}),
            (
                needing(cpus='32'),
                having(capabilities='cpus:1'),
                {'capabilities:cpus': 1},
            ),
            (
                needing(cores='4'),
                having(capabilities=None),
                {'capabilities:cores': 1},
            ),
            (
                needing(vendor='acme'),
                having(vendor='acme'),
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
        self.assertEqual((9, 1), (choice.examined, choice.fitting))


def drawn(nodes, instance: str = INSTANCE, limit: int = 10) -> list[str]:
    return [n.uuid for n in selection.sample(nodes, instance, limit)]


class TestDraw(unittest.TestCase):
    def test_few_of_many_are_drawn_and_others_for_another_instance(
        self,
    ) -> None:
        nodes = [node(number) for number in range(1000)]
        classes = [node(n, resource_class=f'c{n % 2}') for n in range(1000)]
        first, *others = selection.sample(classes, INSTANCE, 10)
        self.assertEqual(
            {first.resource_class}, {one.resource_class for one in others}
        )
        first = drawn(nodes)
        self.assertEqual(10, len(set(first)))
        self.assertEqual(first, drawn(nodes[::-1]))
        # Concurrent requests start at different nodes.
        instances = [node(number).uuid for number in range(100)]
        firsts = {drawn(nodes, i, 1)[0] for i in instances}
        self.assertGreater(len(firsts), 90)

    def test_draws_do_not_depend_on_the_process(self) -> None:
        nodes = [node(number) for number in range(5000)]
        self.assertEqual(
            ['bb5', 'a2a', '0ed'], [u[-3:] for u in drawn(nodes, limit=3)]
        )
