from __future__ import annotations

import unittest
from collections.abc import Mapping

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.contracts import model, placement, reasons
from ironic_ownership.engine.placement import inventory_diff
from tests.unit.engine import world

BM = 'CUSTOM_BAREMETAL'
FREE = {BM: placement.Resource(1)}
RESERVED = {BM: placement.Resource(1, reserved=1)}

_NODES = st.builds(
    model.Node,
    st.sampled_from([world.uuid(n) for n in range(4)]),
    resource_class=st.sampled_from([None, '', 'baremetal', 'big.node']),
    traits=st.lists(
        st.sampled_from(['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX'])
    ).map(tuple),
)
_CODES = st.sampled_from([None, *map(str, reasons.Unavailable)])


def node(number: int, **values: object) -> model.Node:
    return world.node(number, **{'resource_class': 'baremetal', **values})


def planned(
    *nodes: model.Node, records: Mapping[int, tuple[str | None, str | None]]
) -> inventory_diff.Diff:
    """Plan for records given as (unavailable, digest) by number."""
    return inventory_diff.compare(
        nodes,
        {
            world.uuid(number): world.record(
                number, 'host1', unavailable=code, placement_digest=digest
            )
            for number, (code, digest) in records.items()
        },
    )


class TestWanted(unittest.TestCase):
    def test_all_of_an_unavailable_node_is_reserved(self) -> None:
        wanted = inventory_diff.wanted(node(1, traits=('CUSTOM_A',)), None)
        self.assertEqual(FREE, wanted.resources)
        self.assertEqual({'CUSTOM_A'}, wanted.traits)
        for code in reasons.Unavailable:
            wanted = inventory_diff.wanted(node(1), code)
            self.assertEqual(RESERVED, wanted.resources)

    @hypothesis.given(_NODES, _CODES, _NODES, _CODES)
    def test_digests_are_equal_if_and_only_if_the_content_is(
        self,
        one: model.Node,
        its: str | None,
        other: model.Node,
        others: str | None,
    ) -> None:
        a = inventory_diff.wanted(one, its)
        b = inventory_diff.wanted(other, others)
        self.assertEqual(
            (a.resources, a.traits) == (b.resources, b.traits),
            a.digest == b.digest,
        )
        self.assertLessEqual(len(a.digest), 64)
        self.assertEqual(
            (a.inventory_part, a.traits_part), inventory_diff.parts(a.digest)
        )

    def test_digest_does_not_depend_on_the_release(self) -> None:
        wanted = inventory_diff.wanted(node(1, traits=('B', 'A')), None)
        self.assertEqual('0d05ccc429d04361-b64e3448a83a5b86', wanted.digest)


class TestPlan(unittest.TestCase):
    def digest(self, of: model.Node, code: str | None = None) -> str:
        return inventory_diff.wanted(of, code).digest

    def test_only_the_part_that_changed_is_written(self) -> None:
        one, new = node(1), node(1, traits=('CUSTOM_A',))
        known = self.digest(one)
        for it, record, parts in (
            (one, ('retired', known), (True, False)),
            (new, (None, known), (False, True)),
            (one, (None, None), (True, True)),
        ):
            (step,) = planned(it, records={1: record}).steps
            self.assertEqual(parts, (step.inventory, step.traits))

    def test_node_that_leaves_scheduling_comes_first(self) -> None:
        nodes = [node(n) for n in range(1, 5)]
        free, held = self.digest(node(1)), self.digest(node(1), 'retired')
        made = planned(
            *nodes,
            records={
                1: (None, None),
                2: ('retired', None),
                3: (None, held),
                4: ('out_of_service', free),
            },
        )
        self.assertEqual(
            [4, 3, 1, 2], [int(step.uuid[-2:]) for step in made.steps]
        )

    def test_node_that_lost_its_class_loses_its_inventory(self) -> None:
        never = planned(
            node(1, resource_class=None), node(2), records={1: (None, None)}
        )
        self.assertEqual([], never.steps)
        self.assertEqual([world.uuid(1)], never.without_class)
        (step,) = planned(
            node(1, resource_class=None),
            records={1: (None, self.digest(node(1)))},
        ).steps
        self.assertEqual({}, step.wanted.resources)

    @hypothesis.given(_NODES, _CODES)
    def test_what_is_accepted_is_not_planned_again(
        self, one: model.Node, code: str | None
    ) -> None:
        number = int(one.uuid[-2:])
        known: str | None = None
        for _ in range(2):
            made = planned(one, records={number: (code, known)})
            for step in made.steps:
                known = step.wanted.digest
        self.assertEqual([], made.steps)


class TestSums(unittest.TestCase):
    def test_unavailable_nodes_without_own_instances_are_reserved(
        self,
    ) -> None:
        reason = reasons.Unavailable
        for codes, own, total, reserved in (
            ((None, reason.OUT_OF_SERVICE, reason.MAINTENANCE), 0, 3, 2),
            ((reason.IN_USE,) * 3 + (None,), 1, 4, 2),
            ((reason.MAINTENANCE,), 1, 1, 1),
        ):
            found = inventory_diff.sums(
                (node(n), n < own, code) for n, code in enumerate(codes)
            ).resources
            self.assertEqual({BM: placement.Resource(total, reserved)}, found)

    def test_own_instance_counts_once_in_any_state_of_its_node(self) -> None:
        nodes = [
            node(number, instance_uuid=world.uuid(900 + number))
            for number in range(1, 7)
        ]
        for code in reasons.Unavailable:
            found = inventory_diff.sums(
                (one, one is not nodes[5], code) for one in nodes
            ).resources
            # Placement counts five allocations of this provider itself.
            self.assertEqual({BM: placement.Resource(6, reserved=1)}, found)

    def test_classes_are_counted_apart_and_no_class_is_nothing(self) -> None:
        nodes = [
            node(1),
            node(2, resource_class='other'),
            node(3, resource_class=None),
        ]
        found = inventory_diff.sums(
            (one, False, None) for one in nodes
        ).resources
        self.assertEqual(
            {BM: placement.Resource(1), 'CUSTOM_OTHER': placement.Resource(1)},
            found,
        )
