from __future__ import annotations

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.engine import policy_set
from tests.unit.engine import world

_RUNS = st.fixed_dictionaries(
    {},
    optional={
        'all': st.none(),
        'shard_key': st.sampled_from(('a', 'A')),
        'conductor_group': st.sampled_from(('', 'g', 'G')),
        'picky': st.just('ipmi'),
        'peer_list': st.just(()),
    },
)
_NODES = st.builds(
    model.Node,
    uuid=st.just('n'),
    shard=st.sampled_from((None, 'a', 'A')),
    conductor_group=st.sampled_from(('', 'g')),
    driver=st.sampled_from(('ipmi', 'redfish')),
)


class TestPolicySet(unittest.TestCase):
    @given(_RUNS, _NODES)
    def test_node_is_admitted_when_every_filter_admits_it(
        self, runs, node
    ) -> None:
        policies = world.interpret(world.runs(**runs))
        self.assertIs(
            all(f.admits(node) for f in policies.filters),
            policies.admits(node),
        )

    @given(_RUNS, _NODES)
    def test_what_is_admitted_lies_in_the_scope(self, runs, node) -> None:
        policies = world.interpret(world.runs(**runs))
        if policies.admits(node):
            self.assertTrue(
                policies.scope.matches(node.shard, node.conductor_group)
            )

    def test_scopes_add_up(self) -> None:
        policies = world.interpret(
            world.runs(shard_key='a', conductor_group='G', picky='ipmi')
        )
        self.assertEqual(
            model.Scope(shard='a', conductor_group='g'), policies.scope
        )

    def test_only_what_scopes_cannot_say_is_asked_node_by_node(self) -> None:
        policies = world.interpret(
            world.runs(all=None, shard_key='a', picky='ipmi')
        )
        self.assertEqual(
            [world.PickyPolicy], [type(f) for f in policies.beyond_scope]
        )

    def test_assigner_alone_admits_every_node(self) -> None:
        policies = world.interpret(world.RING)
        self.assertEqual(model.Scope(), policies.scope)
        self.assertTrue(policies.admits(world.node(1, shard='a')))

    def test_only_a_rebalancing_assigner_rebalances(self) -> None:
        for runs, rebalancing in (
            (world.ALL, False),
            (world.runs(odd=None), False),
            (world.RING, True),
        ):
            self.assertIs(rebalancing, world.interpret(runs).rebalancing)

    def test_no_policies_filter_nothing(self) -> None:
        self.assertEqual(model.Scope(), policy_set.PolicySet().scope)
