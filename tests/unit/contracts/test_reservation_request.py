from __future__ import annotations

import json
import pathlib
import re
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions, flavor_specs
from ironic_ownership.contracts import reservation_request as contract
from ironic_ownership.contracts import reservation_validation as values

_CHECKOUT = pathlib.Path(__file__).parents[3]
_GUIDE = 'doc/source/operator/reservation-requests.rst'
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
    st.characters(exclude_categories=('Cs', 'Cc', 'Z')),
    min_size=1,
    max_size=20,
)
_traits = st.lists(st.from_regex(r'\ACUSTOM_[A-Z0-9_]{1,8}\Z'), max_size=3)
_amounts = st.integers(0, values.MAX_AMOUNT)
_bodies = st.fixed_dictionaries(
    {'instance_uuid': st.uuids().map(str), 'service': _texts},
    optional={
        'resource_class': _texts,
        'traits': _traits,
        'forbidden_traits': _traits,
        **dict.fromkeys(contract.AMOUNTS, _amounts),
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
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from(contract.KEYS), inner)
    ),
    max_leaves=8,
)


def faults(**body) -> tuple[str, ...]:
    try:
        contract.Request.from_mapping({**LEAST, **body})
    except exceptions.RequestError as exc:
        return exc.faults
    return ()


class TestReading(unittest.TestCase):
    def test_example_of_the_specification_is_understood(self) -> None:
        read = contract.Request.from_mapping(SPECIFICATION)
        self.assertEqual(
            (1024, 8, 20, 10, 2),
            tuple(getattr(read, name) for name in contract.AMOUNTS),
        )
        self.assertEqual(
            (('supports_uefi', ''), ('has_gpu', '')), read.specs().capabilities
        )
        self.assertEqual('some-uuid', read.image_id)
        self.assertEqual({'a': 'b'}, read.image_properties)

    @given(_bodies)
    def test_what_is_written_is_read_again(self, body) -> None:
        read = contract.Request.from_mapping(body)
        text = json.dumps(read.to_mapping())
        self.assertEqual(read, contract.Request.from_mapping(json.loads(text)))

    @given(_json)
    def test_any_document_is_read_or_refused_with_its_faults(
        self, body
    ) -> None:
        try:
            contract.Request.from_mapping(body)
        except exceptions.RequestError as exc:
            self.assertTrue(exc.faults)

    @given(st.sampled_from(contract.KEYS), _json)
    def test_any_value_of_a_key_is_read_or_refused_by_its_name(
        self, key, value
    ) -> None:
        for fault in faults(**{key: value}):
            self.assertTrue(fault.startswith(key), fault)

    def test_two_requests_for_the_same_are_equal(self) -> None:
        plain = contract.Request.from_mapping(LEAST)
        for body in (
            {'instance_uuid': INSTANCE.upper().replace('-', '')},
            {'service': ' ONE '},
            {'memory_mb': 0, 'swap': '', 'node': None, 'image': None},
            {'traits': [], 'extra_specs': {}, 'image': {}},
            {'rxtx_factor': 2.0, 'vcpu_weight': 1},
        ):
            self.assertEqual(
                plain, contract.Request.from_mapping({**LEAST, **body}), body
            )
        some = {'traits': ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_A']}
        self.assertEqual(
            contract.Request.from_mapping({**LEAST, **some}),
            contract.Request.from_mapping(
                {**LEAST, 'traits': ['CUSTOM_B', 'CUSTOM_A']}
            ),
        )

    def test_all_faults_are_reported_together(self) -> None:
        with self.assertRaises(exceptions.RequestError) as caught:
            contract.Request.from_mapping(
                {
                    'instance_uuid': 'x',
                    'memory_mb': -1,
                    'flavour': {},
                    'image': {'name': 'a'},
                    'traits': ['gold', 'CUSTOM_A'],
                    'extra_specs': {
                        'resources:CUSTOM_A': '2',
                        'trait:CUSTOM_A': 'maybe',
                    },
                }
            )
        places = [fault.partition(':')[0] for fault in caught.exception.faults]
        self.assertEqual(
            {
                'flavour',
                'service',
                'instance_uuid',
                'image.name',
                'memory_mb',
                'traits[0]',
                'extra_specs.resources',
                'extra_specs.trait',
            },
            set(places),
        )
        self.assertEqual(8, len(places))

    def test_faults_say_what_would_be_right(self) -> None:
        for body, expected in (
            ({'memory_mb': 'lots'}, 'whole number'),
            ({'memory_mb': True}, 'whole number'),
            ({'memory_mb': 1.5}, 'whole number'),
            ({'memory_mb': 2**31}, 'whole number'),
            ({'vcpu_weight': 'x'}, 'number'),
            ({'resource_class': ''}, 'text'),
            ({'resource_class': 'x' * 256}, 'text'),
            ({'traits': 'CUSTOM_A'}, 'list of traits'),
            ({'traits': ['custom']}, 'capital letters'),
            ({'extra_specs': []}, 'object'),
            ({'extra_specs': {'a': []}}, 'text'),
            ({'extra_specs': {'': 'a'}}, 'name'),
            ({'image': 'ubuntu'}, 'object'),
            ({'extra_specs': {'resources:VGPU': '1'}}, 'no VGPU'),
            (
                {
                    'extra_specs': {
                        'resources:CUSTOM_A': '1',
                        'resources:CUSTOM_B': '1',
                    }
                },
                'one resource class',
            ),
            ({'image': {'properties': {'resources:VCPU': '1'}}}, 'flavor'),
            ({'image': {'properties': {'trait:X': 'no'}}}, 'neither'),
        ):
            found = faults(**body)
            self.assertEqual(1, len(found), (body, found))
            self.assertIn(expected, found[0])


class TestFlavorSpecs(unittest.TestCase):
    def read(self, extra_specs, properties=None) -> flavor_specs.FlavorSpecs:
        return contract.Request.from_mapping(
            {
                **LEAST,
                'extra_specs': extra_specs,
                'image': {'properties': properties or {}},
            }
        ).specs()

    def test_what_nova_writes_is_understood(self) -> None:
        specs = self.read(
            {
                'resources:CUSTOM_GOLD': '1',
                'resources:CUSTOM_SILVER': '0',
                'resources:VCPU': '0',
                'resources1:DISK_GB': '30',
                'trait:HW_CPU_X86_VMX': 'required',
                'trait2:CUSTOM_OLD': 'forbidden',
                'capabilities:boot_mode': 'uefi',
                'capabilities': 'a, b:>= 2,boot_mode:uefi,',
                'hw:cpu_policy': 'dedicated',
            },
            {
                'trait:CUSTOM_IMAGE': 'required',
                'capabilities:c': '<in> 1',
                'hw_architecture': 'aarch64',
                'os_distro': 'debian',
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
            specs,
        )

    def test_what_is_not_about_bare_metal_says_nothing(self) -> None:
        self.assertEqual(
            flavor_specs.FlavorSpecs(),
            self.read({'hw:numa_nodes': '1', 'quota:x': '2', 'free': 'text'}),
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
        contract.Request.from_mapping(json.loads(found[1]))
        for key in contract.KEYS:
            self.assertIn(f'``{key}``', guide)
