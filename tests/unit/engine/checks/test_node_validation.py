"""Validation of nodes in a file, before they are enrolled."""

from __future__ import annotations

import dataclasses
import functools
import unittest
from typing import Any

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.engine import availability
from ironic_ownership.engine.checks import node_validation
from ironic_ownership.engine.queries.deployment import Deployment, Part
from tests.unit.engine import world

CONDUCTORS = availability.Conductors.of(
    [
        model.Conductor('c1', '', frozenset({'ipmi', 'redfish'})),
        model.Conductor('c2', 'rack-a', frozenset({'ipmi'})),
        model.Conductor('c3', 'rack-a', frozenset({'redfish'}), alive=False),
    ]
)
GOOD = {'driver': 'ipmi', 'resource_class': 'baremetal', 'name': 'n1'}


class _NotX(policy.FilterPolicy):
    """Admits any shard but x."""

    contract_version = 1

    def admits(self, node: model.Node) -> bool:
        return node.shard != 'x'


DEPLOYMENT = Deployment(
    functools.partial(world.interpret, classes={'not_x': _NotX}),
    view=model.View.of([world.member('host1', world.runs(not_x=None))]),
    nodes={world.uuid(1): world.node(1, name='taken')},
    conductors=CONDUCTORS,
)


def faults(*nodes: Any, deployment=DEPLOYMENT) -> list[node_validation.Fault]:
    entries = node_validation.entries_of(list(nodes))
    assert entries is not None
    return node_validation.validate(entries, deployment)


def codes(*nodes: Any) -> list[str]:
    return [fault.code for fault in faults(*nodes)]


class TestValidate(unittest.TestCase):
    def test_good_nodes_have_no_faults(self) -> None:
        self.assertEqual(
            [],
            faults(
                GOOD,
                {
                    **GOOD,
                    'name': 'n2',
                    'uuid': world.uuid(2),
                    'conductor_group': 'Rack-A',
                },
                {'driver': 'redfish', 'resource_class': 'b', 'ports': []},
            ),
        )

    def test_driver_without_a_conductor_is_refused_with_the_nearest(
        self,
    ) -> None:
        refused, warned = node_validation.FaultSeverity
        for values, code, severity, hint in (
            ({'driver': 'ipmmi'}, 'driver_unknown', refused, 'you mean ipmi'),
            (
                {'driver': 'redfish', 'conductor_group': 'rack-a'},
                *('driver_not_in_group', refused, 'c3'),
            ),
            (
                {'conductor_group': 'rack-b'},
                *('conductor_group_unknown', refused, 'rack-a'),
            ),
            ({'shard': 'x'}, 'not_admitted', warned, ''),
        ):
            (fault,) = faults({**GOOD, **values})
            self.assertEqual((code, severity), (fault.code, fault.severity))
            self.assertIn(hint, fault.hint)
            self.assertEqual(
                ('[0]', 'n1'), (fault.entry.place, fault.entry.label)
            )

    def test_service_that_cannot_be_read_may_admit_a_node(self) -> None:
        members = (*DEPLOYMENT.view.members, world.member('odd', world.NEWER))
        seen = dataclasses.replace(DEPLOYMENT, view=model.View.of(members))
        self.assertEqual([], faults({**GOOD, 'shard': 'x'}, deployment=seen))

    def test_without_any_live_conductor_every_node_is_refused(self) -> None:
        dead = model.Conductor('c9', '', frozenset({'ipmi'}), alive=False)
        for some in ([], [dead]):
            found = availability.Conductors.of(some)
            deployment = dataclasses.replace(DEPLOYMENT, conductors=found)
            (fault,) = faults(GOOD, deployment=deployment)
            self.assertEqual('driver_unknown', fault.code)
        self.assertIn('c9', fault.hint)

    def test_names_and_uuids_are_compared_with_ironic_and_the_file(
        self,
    ) -> None:
        found = faults(
            {**GOOD, 'name': 'taken'},
            {**GOOD, 'name': 'twice', 'uuid': world.uuid(7)},
            {**GOOD, 'name': 'twice', 'uuid': world.uuid(7)},
            {**GOOD, 'uuid': world.uuid(1).upper()},
        )
        self.assertEqual(
            [
                ('[0]', 'name_duplicate'),
                ('[2]', 'uuid_duplicate'),
                ('[2]', 'name_duplicate'),
                ('[3]', 'uuid_duplicate'),
            ],
            [(fault.entry.place, fault.code) for fault in found],
        )
        self.assertIn('Ironic', found[0].what)
        self.assertIn('[1]', found[1].what)

    def test_what_is_missing_or_invalid_is_named(self) -> None:
        self.assertEqual(
            ['driver_missing', 'resource_class_missing'], codes({'name': 'n'})
        )
        for name in ('a b', 'a/b', '', 'ü', world.uuid(3), 'x' * 256):
            self.assertEqual(['name_invalid'], codes({**GOOD, 'name': name}))
        for uuid in ('x', 7, ''):
            self.assertEqual(['uuid_invalid'], codes({**GOOD, 'uuid': uuid}))
        self.assertEqual(
            ['not_a_node', 'not_a_node', 'driver_unknown'],
            codes('x', None, {**GOOD, 'driver': 'x'}),
        )

    def test_field_of_another_type_is_named(self) -> None:
        for name, value in (
            *(('name', 7), ('resource_class', 7), ('owner', ['o'])),
            *(('properties', 'cpus'), ('extra', ['x']), ('driver_info', 7)),
        ):
            found = faults({**GOOD, name: value})
            self.assertEqual(['field_invalid'], [f.code for f in found])
            self.assertIn(f'{name} is {value!r}, ', found[0].what)
        self.assertEqual([], codes({**GOOD, 'owner': None, 'extra': {}}))

    def test_without_services_no_policy_is_evaluated(self) -> None:
        deployment = dataclasses.replace(
            DEPLOYMENT,
            view=model.View(),
            unread={Part.MEMBERSHIP: exceptions.MembershipError('no answer')},
        )
        self.assertEqual(
            [], faults({**GOOD, 'shard': 'x'}, deployment=deployment)
        )

    @hypothesis.given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        (
                            *('nodes', 'chassis', 'name', 'uuid', 'driver'),
                            *('conductor_group', 'shard', 'resource_class'),
                        )
                    ),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=12,
        )
    )
    def test_any_document_can_be_validated(self, document) -> None:
        entries = node_validation.entries_of(document)
        if entries is None:
            return
        for fault in node_validation.validate(entries, DEPLOYMENT):
            self.assertTrue(fault.code and fault.what)


class TestEntries(unittest.TestCase):
    def test_forms_of_the_file(self) -> None:
        for document, places in (
            ([GOOD, GOOD], ['[0]', '[1]']),
            ({'nodes': [GOOD]}, ['nodes[0]']),
            (
                {
                    'chassis': [{'nodes': [GOOD]}, {}, {'nodes': [GOOD]}],
                    'nodes': [GOOD],
                },
                ['nodes[0]', 'chassis[0].nodes[0]', 'chassis[2].nodes[0]'],
            ),
            (
                {'chassis': ['x', [GOOD], {'nodes': 'y'}]},
                ['chassis[0]', 'chassis[1]', 'chassis[2].nodes'],
            ),
            ({'nodes': []}, []),
            # Those have no nodes at all.
            *((nothing, None) for nothing in (None, 'text', 7, {})),
            ({'node': []}, None),
        ):
            found = node_validation.entries_of(document)
            self.assertEqual(
                places,
                found if found is None else [one.place for one in found],
            )
