from __future__ import annotations

import dataclasses

import testtools
from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import compact_forms, model, reasons
from ironic_ownership.contracts.compact import CompactMap

TEXT = st.text(max_size=8)
KEYS = st.sampled_from('abcdefgh') | TEXT
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=4,
)
MAPPINGS = st.dictionaries(TEXT, JSON, max_size=2)
FEW = st.none() | st.sampled_from(['x', 'y', '"],\n["a"'])

NODES = st.builds(
    model.Node,
    uuid=KEYS,
    name=st.none() | TEXT,
    driver=st.sampled_from(['ipmi', 'redfish']),
    conductor_group=TEXT,
    shard=FEW,
    instance_uuid=FEW,
    provision_state=FEW,
    target_provision_state=FEW,
    power_state=FEW,
    target_power_state=FEW,
    maintenance=st.booleans(),
    retired=st.booleans(),
    reservation=FEW,
    resource_class=FEW,
    properties=MAPPINGS,
    traits=st.lists(TEXT, max_size=2).map(tuple),
    extra=MAPPINGS,
    fields=MAPPINGS,
)
TIMES = st.none() | st.floats(0, 4e9)
RECORDS = st.builds(
    model.ComputeNode,
    uuid=KEYS,
    host=FEW,
    instance_uuid=FEW,
    name=st.none() | TEXT,
    driver=st.sampled_from(['', 'ipmi']),
    shard=FEW,
    conductor_group=TEXT,
    reason=st.sampled_from(reasons.Reason),
    updated_at=TIMES,
    unavailable=FEW,
    unavailable_since=TIMES,
    placement_digest=st.none() | TEXT,
    released_by=FEW,
)
FORMS = st.sampled_from(
    [
        (compact_forms.NodeForm, NODES),
        (compact_forms.RecordForm, RECORDS),
    ]
)
SHARED = st.sampled_from([0, 1, compact_forms.MOST_SHARED])


@st.composite
def contents(draw):
    """Return a form, and two lists of values for it."""
    form, values = draw(FORMS)
    lists = st.lists(values, max_size=12)
    return form(draw(SHARED)), draw(lists), draw(lists)


def plain(*values):
    """Return values by uuid."""
    return {value.uuid: value for value in values}


def node(number: int, **values: object) -> model.Node:
    """Return a node of a large fleet."""
    return model.Node(f'{number:08x}-0000-4000-8000-000000000000', **values)


class TestCompactMap(testtools.TestCase):
    @given(contents())
    def test_has_what_a_dictionary_has(self, given_contents) -> None:
        form, values, _ = given_contents
        expected, found = plain(*values), CompactMap.of(form, values)
        self.assertEqual(expected, dict(found))
        self.assertEqual(expected, dict(found.items()))
        self.assertCountEqual(expected.values(), found.values())
        self.assertCountEqual(expected, found)
        self.assertEqual(len(expected), len(found))
        self.assertEqual(len(expected), len(found.values()))
        for key in [*expected, 'unknown', '']:
            self.assertEqual(key in expected, key in found)
            self.assertEqual(expected.get(key), found.get(key))
        self.assertNotIn(0, found)

    @given(contents(), st.sets(KEYS))
    def test_changes_and_keeps_the_one_before(
        self, given_contents, dropped
    ) -> None:
        form, values, more = given_contents
        before = CompactMap.of(form, values)
        after = before.changed(more, dropped)
        expected = {
            key: value
            for key, value in plain(*values).items()
            if key not in dropped
        } | plain(*more)
        self.assertEqual(plain(*values), dict(before))
        self.assertEqual(expected, dict(after))
        self.assertEqual(len(expected), len(after))

    @given(contents(), st.booleans())
    def test_names_what_differs(self, given_contents, follows) -> None:
        form, values, more = given_contents
        before = CompactMap.of(form, values)
        after = before.changed(more) if follows else CompactMap.of(form, more)
        differing = after.differing(before)
        self.assertEqual(differing, before.differing(after))
        one, other = dict(before), dict(after)
        self.assertLessEqual(
            {k for k in {*one, *other} if one.get(k) != other.get(k)},
            differing,
        )
        another = CompactMap.of(type(form)(), after.values())
        self.assertEqual(set(), after.differing(another))

    def test_large_one_is_split_and_shares_what_is_the_same(self) -> None:
        form = compact_forms.NodeForm()
        nodes = [node(n, name=f'n{n}') for n in range(5000)]
        found = CompactMap.of(form, nodes)
        self.assertEqual(plain(*nodes), dict(found))
        other = dataclasses.replace(nodes[7], power_state='power on')
        after = found.changed([other], [nodes[9].uuid])
        self.assertEqual(
            {nodes[7].uuid, nodes[9].uuid}, after.differing(found)
        )
        self.assertEqual(4999, len(after))
        same = sum(
            one is another
            for one, another in zip(found._texts, after._texts, strict=True)
        )
        self.assertEqual(len(found._texts) - 2, same)

    def test_what_a_node_does_not_have_takes_no_place(self) -> None:
        form = compact_forms.NodeForm()
        bare, named = form.row(node(1)), form.row(node(1, name='n1'))
        self.assertNotIn(None, bare)
        self.assertEqual([*bare, 'n1'], [*named])

    def test_nodes_share_what_is_equal(self) -> None:
        nodes = [
            node(n, properties={'cpus': 4}, traits=('A',)) for n in range(50)
        ]
        found = CompactMap.of(compact_forms.NodeForm(), nodes)
        one, other, *_ = found.values()
        self.assertIs(one.properties, other.properties)
        self.assertIs(one.traits, other.traits)
