from __future__ import annotations

import json
import pathlib
import re
import unittest

from hypothesis import given, settings
from hypothesis import strategies as st

from ironic_ownership.api import validation
from ironic_ownership.api.resources import reservations
from ironic_ownership.contracts import exceptions, flavor_specs
from ironic_ownership.contracts.reservations import AMOUNTS, Request

_CHECKOUT = pathlib.Path(__file__).parents[3]
_GUIDE = 'doc/source/know/reservation-requests.rst'
INSTANCE = '11111111-1111-4111-8111-111111111111'
LEAST = {'instance_uuid': INSTANCE, 'service': 'one'}
SPECIFICATION = {
    **LEAST,
    'memory_mb': 1024,
    'vcpus': 8,
    'vcpu_weight': None,
    'root_gb': 20,
    'ephemeral_gb': 10,
    'swap': 2,
    'rxtx_factor': 1.0,
    'extra_specs': {'capabilities': 'supports_uefi,has_gpu'},
    'image': {'id': 'some-uuid', 'properties': {'a': 'b'}},
}

_texts = st.text(
    st.characters(
        exclude_categories=('Cs', 'Cc', 'Z'), exclude_characters='/'
    ),
    min_size=1,
    max_size=20,
)
_traits = st.lists(st.from_regex(r'\ACUSTOM_[A-Z0-9_]{1,8}\Z'), max_size=3)
_amounts = st.integers(0, reservations.MAX_AMOUNT)
_bodies = st.fixed_dictionaries(
    {'instance_uuid': st.uuids().map(str), 'service': _texts},
    optional={
        'resource_class': _texts,
        'traits': _traits,
        'forbidden_traits': _traits,
        **dict.fromkeys(AMOUNTS, _amounts),
        'extra_specs': st.dictionaries(
            _texts.map('hw:{}'.format) | _texts.map('capabilities:{}'.format),
            _texts,
        ),
        'image': st.fixed_dictionaries(
            {}, optional={'id': _texts, 'properties': st.just({'a': '1'})}
        ),
        'node': _texts,
    },
)


def read(**body) -> Request:
    validation.check({**LEAST, **body}, reservations.BODY, 'request')
    return Request.from_mapping({**LEAST, **body})


class TestReading(unittest.TestCase):
    def test_example_of_the_specification_is_understood(self) -> None:
        found = read(**SPECIFICATION)
        self.assertEqual(
            (1024, 8, 20, 10, 2),
            tuple(getattr(found, name) for name in AMOUNTS),
        )
        self.assertEqual(
            (('supports_uefi', ''), ('has_gpu', '')),
            found.specs().capabilities,
        )
        self.assertEqual('some-uuid', found.image_id)
        self.assertEqual({'a': 'b'}, found.image_properties)

    @settings(max_examples=settings().max_examples // 3)
    @given(_bodies)
    def test_what_is_written_is_read_again(self, body) -> None:
        found = read(**body)
        text = json.dumps(found.to_mapping())
        self.assertEqual(found, read(**json.loads(text)))

    def test_two_requests_for_the_same_are_equal(self) -> None:
        some = {'traits': ['CUSTOM_A', 'CUSTOM_B']}
        for one, other in (
            ({}, {'instance_uuid': INSTANCE.upper().replace('-', '')}),
            ({}, {'service': 'ONE'}),
            ({}, {'memory_mb': 0, 'swap': '', 'node': None, 'image': None}),
            ({}, {'traits': [], 'extra_specs': {}, 'image': {}}),
            ({}, {'rxtx_factor': 2.0, 'vcpu_weight': 1}),
            ({'vcpus': 8}, {'vcpus': '8'}),
            ({'node': 'a'}, {'node': 'a '}),
            ({'extra_specs': {'a': '1.5'}}, {'extra_specs': {'a': 1.5}}),
            (some, {'traits': ['CUSTOM_B', 'CUSTOM_A', 'CUSTOM_A']}),
        ):
            self.assertEqual(read(**one), read(**other), other)

    def test_faults_have_their_place_and_say_what_would_be_right(self) -> None:
        resources = {'resources:CUSTOM_A': '1', 'resources:CUSTOM_B': '1'}
        image = {'properties': {'resources:VCPU': '1'}}
        for body, *expected in (
            ({'instance_uuid': 'x'}, 'request.instance_uuid', 'Uuid'),
            ({'service': ''}, 'request.service'),
            ({'memory_mb': 'lots'}, 'request.memory_mb', 'whole number'),
            ({'memory_mb': True}, 'request.memory_mb', 'whole number'),
            ({'memory_mb': 1.5}, 'request.memory_mb', 'whole number'),
            ({'memory_mb': 2**31}, 'request.memory_mb', 'whole number'),
            ({'memory_mb': -1}, 'request.memory_mb', 'whole number'),
            ({'vcpu_weight': 'x'}, 'request.vcpu_weight', 'number'),
            ({'resource_class': ''}, 'request.resource_class'),
            ({'resource_class': 'x' * 256}, 'request.resource_class', 'long'),
            ({'traits': 'CUSTOM_A'}, 'request.traits', 'array'),
            ({'traits': ['gold']}, 'request.traits[0]', 'Capital letters'),
            ({'flavour': {}}, 'request', "'flavour' was unexpected"),
            ({'extra_specs': []}, 'request.extra_specs', 'object'),
            ({'extra_specs': {'a': []}}, 'request.extra_specs.a', 'string'),
            ({'extra_specs': {'': 'a'}}, 'request.extra_specs'),
            ({'image': 'ubuntu'}, 'request.image', 'object'),
            ({'image': {'name': 'a'}}, 'request.image', "'name'"),
            ({'extra_specs': {'resources:VGPU': '1'}}, 'no VGPU'),
            ({'extra_specs': {'resources:CUSTOM_A': '2'}}, 'and not 2'),
            ({'extra_specs': {'resources:VCPU': 'x'}}, 'whole number'),
            ({'extra_specs': {'trait:CUSTOM_A': 'maybe'}}, 'neither'),
            ({'extra_specs': {'trait:x': 'required'}}, 'not a trait'),
            ({'extra_specs': resources}, 'one resource class'),
            ({'image': image}, 'image.properties.resources:VCPU', 'flavor'),
        ):
            with self.assertRaises(exceptions.RequestError, msg=body) as exc:
                read(**body)
            for fault in exc.exception.faults:
                for text in expected:
                    self.assertIn(text, fault)


class TestFlavorSpecs(unittest.TestCase):
    def test_what_nova_writes_is_understood(self) -> None:
        request = read(
            extra_specs={
                'resources:CUSTOM_GOLD': '1',
                'resources:CUSTOM_SILVER': '0',
                'resources:VCPU': '0',
                'resources1:DISK_GB': '30',
                'trait:HW_CPU_X86_VMX': 'required',
                'trait2:CUSTOM_OLD': 'forbidden',
                'capabilities:boot_mode': 'uefi',
                'capabilities': 'a, b:>= 2,boot_mode:uefi,',
                # What is not about bare metal says nothing.
                'hw:cpu_policy': 'dedicated',
                'hw:numa_nodes': '1',
                'quota:x': '2',
                'free': 'text',
            },
            image={
                'properties': {
                    'trait:CUSTOM_IMAGE': 'required',
                    'capabilities:c': '<in> 1',
                    'hw_architecture': 'aarch64',
                    'os_distro': 'debian',
                }
            },
        )
        self.assertEqual(
            flavor_specs.FlavorSpecs(
                resource_class='CUSTOM_GOLD',
                traits=frozenset(('HW_CPU_X86_VMX', 'CUSTOM_IMAGE')),
                forbidden_traits=frozenset(('CUSTOM_OLD',)),
                amounts={'vcpus': 0, 'disk_gb': 30},
                capabilities=(
                    ('boot_mode', 'uefi'),
                    ('a', ''),
                    ('b', '>= 2'),
                    ('c', '<in> 1'),
                ),
                architecture='aarch64',
            ),
            request.specs(),
        )

    def test_resource_classes_are_named_as_nova_names_them(self) -> None:
        for name, expected in (
            ('gold', 'CUSTOM_GOLD'),
            ('Bare-metal.gold v2', 'CUSTOM_BARE_METAL_GOLD_V2'),
            ('a -- b_', 'CUSTOM_A_B_'),
            ('größe', 'CUSTOM_GR_E'),
            ('CUSTOM_GOLD', 'CUSTOM_CUSTOM_GOLD'),
        ):
            self.assertEqual(expected, flavor_specs.normalised(name))


class TestGuide(unittest.TestCase):
    def test_operators_guide_shows_a_request_and_names_every_key(self) -> None:
        guide = (_CHECKOUT / _GUIDE).read_text()
        found = re.search(r'code-block:: json\n\n((?: +.*\n)+)', guide)
        assert found is not None
        read(**json.loads(found[1]))
        for key in reservations.BODY['properties'].keys() - {'dry_run'}:
            self.assertIn(f'``{key}``', guide)
