from __future__ import annotations

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model, policy
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
    def test_admitted_node_is_in_the_scope_and_admitted_by_every_filter(
        self, runs, node
    ) -> None:
        policies = world.interpret(world.runs(**runs))
        admitted = policies.admits(node)
        self.assertIs(all(f.admits(node) for f in policies.filters), admitted)
        in_scope = policies.scope.matches(node.shard, node.conductor_group)
        self.assertLessEqual(admitted, in_scope)

    def test_scopes_add_up(self) -> None:
        policies = world.interpret(
            world.runs(
                all=None, shard_key='a', conductor_group='G', picky='ipmi'
            )
        )
        self.assertEqual(
            model.Scope(shard='a', conductor_group='g'), policies.scope
        )
        # The others need not be asked about each node.
        (asked,) = policies.beyond_scope
        self.assertIsInstance(asked, world.PickyPolicy)

    def test_text_gets_the_origins_of_policies_that_it_names(self) -> None:
        origins = {world.PickyPolicy: "policy 'a' or 'c' from site 1.0"}
        found = policy_set.PolicySet.of(
            [world.PickyPolicy({}), world.OddPolicy({})],
            lambda kind: origins.get(kind, ''),
        )
        for text, named in (
            ("policy 'b', 'a' is not installed", *origins.values()),
            ("policy 'c' is not installed", *origins.values()),
            ("policy 'b' is not installed from site", ''),
        ):
            self.assertEqual(named, found.origins_in(text))


class Fails(policy.FilterPolicy):
    """Exits when it is asked for its scope, and about nodes; sound later."""

    contract_version = 1
    sound = False

    def scope(self) -> model.Scope:
        if self.sound:
            return model.Scope(shard='b')
        raise SystemExit(0)

    def admits(self, node: model.Node) -> bool:
        raise SystemExit(0)


class Answers(Fails):
    """Exits when it is asked for its scope, and admits nodes of shard b."""

    def admits(self, node: model.Node) -> bool:
        return node.shard == 'b'


class TestMayAdmit(unittest.TestCase):
    """Nodes that a failing policy refuses are decided without it."""

    def check(
        self,
        policies: policy_set.PolicySet,
        place: dict[str, bool],
        node: dict[str, bool],
    ) -> None:
        """Ask about places, and about nodes."""
        for shard, may in place.items():
            self.assertIs(may, policies.may_admit(shard, ''))
        for shard, may in node.items():
            asked = world.node(1, shard=shard)
            self.assertIs(may, policies.may_admit(shard, '', asked))

    def test_filter_that_still_answers_about_nodes(self) -> None:
        every, only_b = {'a': True, 'b': True}, {'a': False, 'b': True}
        self.check(policy_set.PolicySet((Answers({}),)), every, only_b)
        known: list[model.Scope] = []
        failing = policy_set.PolicySet((Fails({}),), known_scope=known)
        self.check(failing, every, every)
        # Its scope is known from others with the same settings.
        sound = Fails({})
        sound.sound = True
        found = policy_set.PolicySet((sound,), known_scope=known)
        self.check(found, only_b, only_b)
        self.check(failing, only_b, only_b)
