"""Contract version 2 in decisions: values of members, owners, reasons."""

from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.options import Option, OptionType
from ironic_ownership.contracts.reasons import Decision, Reason
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.queries import balance
from tests.unit.engine import world

NODE = world.node(1)


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


CLASSES = {
    'heaviest': Heaviest,
    'sticky': Sticky,
    'expectant': Expectant,
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

    def test_assigner_gets_the_values_of_each_peer(self) -> None:
        away = model.Service(
            'host2', settings=weighs(5), registered_at=1.0, away=True
        )
        found = Decision('host2', Reason.ASSIGNED, note='weight of host2')
        for groups in (
            self.groups(host1=1, host2=5),
            # Others contest nothing by another value.
            self.groups(host1=1, host2=5, host3=4),
            world.assemble(
                [world.member('host1', weighs(1))], [away], CLASSES
            ),
        ):
            (group,) = groups.groups
            self.assertEqual(
                group.hosts, tuple(peer.host for peer in group.live_peers)
            )
            self.assertEqual(
                {NODE.uuid: found}, decide.decide([NODE], {}, groups)
            )

    def test_shares_are_what_a_ring_is_compared_with(self) -> None:
        groups = self.groups(host1=1, host2=3)
        ((_, even),) = balance.rings(groups, {'host1': 10, 'host2': 30})
        self.assertFalse(even.uneven)
        self.assertEqual((1.0, 1.0), (even.of_mean('host1'),) * 2)
        ((_, odd),) = balance.rings(groups, {'host1': 20, 'host2': 20})
        self.assertTrue(odd.uneven)
        self.assertEqual('host1', odd.largest)
        ((_, idle),) = balance.rings(self.groups(host1=0, host2=3), {})
        self.assertEqual(0, idle.expected('host1'))
        with self.assertRaisesRegex(exceptions.PluginFaultError, 'not shares'):
            balance.rings(self.groups(host1=-1, host2=3), {})

    def test_ring_without_expected_shares_is_never_uneven(self) -> None:
        groups = self.groups('expectant', host1=1, host2=1)
        ((_, found),) = balance.rings(groups, {'host1': 90, 'host2': 2})
        self.assertFalse(found.uneven)
        self.assertIsNone(found.expected('host1'))
        self.assertIsNone(found.of_mean('host1'))

    def test_values_survive_and_are_no_part_of_what_is_shared(self) -> None:
        """Settings as older and newer releases read them."""
        one, other = weighs(1), weighs(5)
        self.assertEqual(one, model.MemberSettings.from_json(one.to_json()))
        self.assertNotEqual(one, other)
        self.assertEqual(one.shared, other.shared)
        self.assertEqual({'weight': 5}, other.own_values)
        # Without values they are those of version one.
        text = world.RING.to_json()
        self.assertNotIn('values', text)
        self.assertIn('"contract_version":1', text)


class TestOwners(unittest.TestCase):
    def test_policy_that_reads_them_gets_the_owners_on_record(self) -> None:
        groups = world.assemble(
            world.members(world.runs(sticky=None), 'host1', 'host2'),
            (),
            CLASSES,
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
