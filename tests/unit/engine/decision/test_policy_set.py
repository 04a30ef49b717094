from __future__ import annotations

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.engine.decision import policy_set
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
    def test_admitted_node_lies_in_the_scope(self, runs, node) -> None:
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

    def test_only_filters_beyond_scopes_are_called_for_each_node(self) -> None:
        policies = world.interpret(
            world.runs(all=None, shard_key='a', picky='ipmi')
        )
        self.assertEqual(
            [world.PickyPolicy], [type(f) for f in policies.beyond_scope]
        )

    def test_only_a_rebalancing_assigner_rebalances(self) -> None:
        for runs, rebalancing in (
            (world.ALL, False),
            (world.runs(odd=None), False),
            (world.RING, True),
        ):
            self.assertIs(rebalancing, world.interpret(runs).rebalancing)


class Alike:
    """An object like a scope that is not one."""

    shard = conductor_group = None
    nothing = False


class Fixed(policy.FilterPolicy):
    """Returns the result that a test sets."""

    contract_version = 1
    answer: object = True

    def scope(self):
        return self.answer if isinstance(self.answer, Alike) else model.Scope()

    def admits(self, node):
        return self.answer


PEERS = policy.Peer('a'), policy.Peer('b')


class FixedAssigner(world.OddPolicy):
    answer: object = frozenset()

    def peers(self, host, candidates, scope):
        return self.answer

    def assign(self, nodes, hosts):
        nodes.reverse()
        return super().assign(nodes, hosts)


def origin(target: type[policy.Policy]) -> str:
    return f"policy 'x' from {target.__name__.lower()} 1.0"


class TestAnswers(unittest.TestCase):
    def fault(self, ask) -> str:
        with self.assertRaises(exceptions.PluginFaultError) as caught:
            ask()
        return str(caught.exception)

    def test_filter_answers_true_or_false_or_breaks_its_contract(self) -> None:
        fixed = Fixed({})
        policies = policy_set.PolicySet.of([fixed], origin)
        for answer in (True, False):
            fixed.answer = answer
            self.assertIs(answer, policies.admits(world.node(1)))
        for answer in (None, 1, 0, 'no', []):
            fixed.answer = answer
            text = self.fault(lambda: policies.admits(world.node(1)))
            for part in ("policy 'x' from fixed 1.0", 'Fixed.admits'):
                self.assertIn(part, text)

    def test_scope_of_another_type_breaks_the_contract(self) -> None:
        fixed = Fixed({})
        fixed.answer = Alike()
        policies = policy_set.PolicySet.of([fixed], origin)
        self.assertIn('Fixed.scope', self.fault(lambda: policies.scope))

    def test_peers_are_a_set_of_names(self) -> None:
        fixed = FixedAssigner({})
        policies = policy_set.PolicySet.of([fixed], origin)
        self.assertEqual({'a'}, policies.peers('a', ['a', 'b']))
        for answer in (None, 'all', ['a'], frozenset({1})):
            fixed.answer = answer
            text = self.fault(lambda: policies.peers('a', ['a', 'b']))
            for part in ('from fixedassigner 1.0', 'FixedAssigner.peers'):
                self.assertIn(part, text)

    def test_order_of_the_nodes_cannot_be_changed_by_a_policy(self) -> None:
        policies = policy_set.PolicySet.of([FixedAssigner({})], origin)
        nodes = [world.node(2), world.node(1)]
        self.assertIn(
            'FixedAssigner.assign',
            self.fault(lambda: policies.choose(nodes, PEERS, {})),
        )
        self.assertEqual([world.node(2), world.node(1)], nodes)
