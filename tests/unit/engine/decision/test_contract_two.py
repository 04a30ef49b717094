"""Contract version 2 in decisions: values of members, owners, reasons."""

from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import exceptions, model, policy, reasons
from ironic_ownership.contracts.options import Option, OptionType
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.queries import balance
from tests.unit.engine import world


class Heaviest(policy.AssignerPolicy):
    """Gives all nodes to the heaviest, with a reason."""

    contract_version = 2
    rebalancing = True
    options = (
        Option(
            'weight', OptionType.INTEGER, 'Weight.', default=1, per_member=True
        ),
    )

    def choose(
        self, request: policy.AssignmentRequest
    ) -> Sequence[policy.Choice | str | None]:
        heaviest = max(request.peers, key=lambda p: p.values['weight'])
        return [
            policy.Choice(heaviest.host, f'weight of\n{heaviest.host}')
        ] * len(request.nodes)

    def shares(
        self, peers: Sequence[policy.Peer]
    ) -> Mapping[str, float] | None:
        return {p.host: float(str(p.values['weight'])) for p in peers}


class Expectant(Heaviest):
    """Expects no shares: where a node belongs depends on the node."""

    def shares(
        self, peers: Sequence[policy.Peer]
    ) -> Mapping[str, float] | None:
        return {}


class Sticky(policy.AssignerPolicy):
    """Leaves each node where it is; new ones go to the first."""

    contract_version = 2
    rebalancing = True
    reads_owners = True

    def choose(
        self, request: policy.AssignmentRequest
    ) -> Sequence[policy.Choice | str | None]:
        first = request.hosts[0]
        return [
            owner if owner in request.hosts else first
            for owner in (request.owners.get(n.uuid) for n in request.nodes)
        ]


class Odd(Heaviest):
    """Gives the reason, or the owner, of the test."""

    answer: object = None

    def choose(
        self, request: policy.AssignmentRequest
    ) -> Sequence[policy.Choice | str | None]:
        return [self.answer] * len(request.nodes)  # type: ignore[list-item]


CLASSES = {
    **world.CLASSES,
    'heaviest': Heaviest,
    'sticky': Sticky,
    'expectant': Expectant,
    'odd_two': Odd,
}


def weighs(weight: int, name: str = 'heaviest') -> model.MemberSettings:
    return model.MemberSettings(
        (model.PolicySettings.of(name, {}),),
        2,
        (model.PolicySettings.of(name, {'weight': weight}),),
    )


class TestValues(unittest.TestCase):
    def groups(self, name: str = 'heaviest', **weights: int) -> PeerGroups:
        return world.assemble(
            [world.member(h, weighs(w, name)) for h, w in weights.items()],
            (),
            CLASSES,
        )

    def decided(self, **weights: int) -> reasons.Decision:
        node = world.node(1)
        return decide.decide([node], {}, self.groups(**weights))[node.uuid]

    def test_services_with_other_values_are_peers(self) -> None:
        (group,) = self.groups(host1=1, host2=5).groups
        self.assertEqual(('host1', 'host2'), group.hosts)
        self.assertEqual(
            [{'weight': 1}, {'weight': 5}],
            [peer.values for peer in group.live_peers],
        )

    def test_assigner_gets_the_values_of_each_peer(self) -> None:
        self.assertEqual('host2', self.decided(host1=1, host2=5).owner)

    def test_changed_value_contests_nothing(self) -> None:
        for weight in (5, 9):
            found = self.decided(host1=1, host2=5, host3=weight)
            self.assertIs(Reason.ASSIGNED, found.reason)
            self.assertIsNone(found.contest)

    def test_values_of_a_service_that_is_away_count(self) -> None:
        row = model.Service(
            'host2', settings=weighs(5), registered_at=1.0, away=True
        )
        groups = world.assemble(
            [world.member('host1', weighs(1))], [row], CLASSES
        )
        node = world.node(1)
        found = decide.decide([node], {}, groups)[node.uuid]
        self.assertEqual('host2', found.owner)

    def test_reason_of_the_policy_is_one_line_of_the_decision(self) -> None:
        found = self.decided(host1=1, host2=5)
        self.assertEqual('weight of host2', found.note)

    def test_shares_are_what_a_ring_is_compared_with(self) -> None:
        groups = self.groups(host1=1, host2=3)
        ((_, even),) = balance.rings(groups, {'host1': 10, 'host2': 30})
        self.assertFalse(even.uneven)
        self.assertEqual((1.0, 1.0), (even.of_mean('host1'),) * 2)
        ((_, odd),) = balance.rings(groups, {'host1': 20, 'host2': 20})
        self.assertTrue(odd.uneven)
        self.assertEqual('host1', odd.largest)

    def test_ring_without_expected_shares_is_never_uneven(self) -> None:
        groups = self.groups('expectant', host1=1, host2=1)
        ((_, found),) = balance.rings(groups, {'host1': 90, 'host2': 2})
        self.assertFalse(found.uneven)
        self.assertIsNone(found.expected('host1'))
        self.assertIsNone(found.of_mean('host1'))


class TestOwners(unittest.TestCase):
    def test_policy_that_reads_them_gets_the_owners_on_record(self) -> None:
        runs = world.runs(sticky=None)
        groups = world.assemble(
            world.members(runs, 'host1', 'host2'), (), CLASSES
        )
        nodes = [world.node(1), world.node(2), world.node(3)]
        records = {
            nodes[0].uuid: world.record(1, 'host2'),
            nodes[1].uuid: world.record(2, 'gone'),
        }
        decided = decide.decide(nodes, records, groups)
        self.assertEqual(
            ['host2', 'gone', 'host1'], [decided[n.uuid].owner for n in nodes]
        )
        self.assertEqual('host1', decided[nodes[1].uuid].wanted_by)
        owners = {nodes[2].uuid: 'host2'}
        decided = decide.decide(nodes, {}, groups, owners)
        self.assertEqual('host2', decided[nodes[2].uuid].owner)


class TestFaults(unittest.TestCase):
    def test_answer_that_is_no_choice_among_the_peers_is_a_fault(self) -> None:
        groups = world.assemble(
            world.members(world.runs(odd_two=None), 'host1', 'host2'),
            (),
            CLASSES,
        )
        assigner = groups.groups[0].policies.assigner
        for answer in (
            'stranger',
            5,
            [],
            policy.Choice('stranger'),
            policy.Choice('host1', 'x' * 101),
            policy.Choice('host1', 5),  # type: ignore[arg-type]
        ):
            assigner.answer = answer
            with (
                self.subTest(answer=answer),
                self.assertRaises(exceptions.PluginFaultError) as caught,
            ):
                decide.decide([world.node(1)], {}, groups)
            self.assertIn('Odd.choose', str(caught.exception))
        assigner.answer = policy.Choice(None, 'no peer wants it')
        node = world.node(1)
        found = decide.decide([node], {}, groups)[node.uuid]
        self.assertIsNone(found.owner)
        self.assertIs(Reason.UNASSIGNED, found.reason)


class TestWire(unittest.TestCase):
    """Settings as older and newer releases read them."""

    def test_settings_without_values_are_those_of_version_one(self) -> None:
        text = world.RING.to_json()
        self.assertNotIn('values', text)
        self.assertIn('"contract_version":1', text)

    def test_values_survive_and_are_no_part_of_what_is_shared(self) -> None:
        one, other = weighs(1), weighs(5)
        self.assertEqual(one, model.MemberSettings.from_json(one.to_json()))
        self.assertNotEqual(one, other)
        self.assertEqual(one.shared, other.shared)
        self.assertEqual({'weight': 5}, other.own_values)
