from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.reasons import Contest, Decision, Reason
from ironic_ownership.engine.decision import decide as decision_decide
from tests.unit.engine import world

CONFLICT, CONTESTED = Contest.CONFLICT, Contest.CONTESTED


class DecideCase(unittest.TestCase):
    def decide(
        self, node, record=None, members=(), services=(), classes=world.CLASSES
    ) -> Decision:
        records = {} if record is None else {record.uuid: record}
        peer_groups = world.assemble(members, services, classes)
        return decision_decide.decide([node], records, peer_groups)[node.uuid]


class TestFreeNodes(DecideCase):
    def test_ring_spreads_what_it_admits_as_nova_does(self) -> None:
        for hosts, owners in (
            (('host1', 'host2'), 'host2 host2 host2 host1'),
            (('host1', 'host2', 'host3'), 'host2 host3 host2 host1'),
        ):
            alive = world.members(world.RING, *hosts)
            for number, owner in enumerate(owners.split(), 1):
                self.assertEqual(
                    Decision(owner, Reason.ASSIGNED),
                    self.decide(world.node(number), members=alive),
                )


class TestDeployedNodes(DecideCase):
    def test_one_without_an_owner_is_adopted_by_its_service(self) -> None:
        alive = world.members(world.RING, 'host1', 'host2')
        for record in (None, world.record(1, None)):
            decision = self.decide(
                world.node(1, instance_uuid='i'), record, alive
            )
            self.assertEqual(Decision('host2', Reason.ADOPTED), decision)

    def test_one_that_an_unreadable_service_released_waits_for_it(
        self,
    ) -> None:
        alive = world.members(world.RING, 'host1', 'host2')
        services = [model.Service('host3', settings=world.UNKNOWN)]
        for former, owner, reason in (
            ('host3', None, Reason.RETURNED),
            ('deleted', 'host2', Reason.ADOPTED),
        ):
            record = world.record(1, None, released_by=former)
            decision = self.decide(
                world.node(1, instance_uuid='i'), record, alive, services
            )
            self.assertEqual(
                (owner, reason), (decision.owner, decision.reason)
            )

    def test_it_stays_with_its_owner_dead_or_alive(self) -> None:
        services = [model.Service('host1', settings=world.RING)]
        for hosts in (('host1', 'host2'), ('host2',)):
            alive = world.members(world.RING, *hosts)
            decision = self.decide(
                world.node(1, instance_uuid='i'),
                world.record(1, 'host1'),
                alive,
                services,
            )
            self.assertEqual(
                ('host1', Reason.INSTANCE_STAYS, 'host2'),
                (decision.owner, decision.reason, decision.wanted_by),
            )

    def test_one_that_leaves_the_scope_stays_and_is_marked(self) -> None:
        decision = self.decide(
            world.node(1, shard='b', instance_uuid='i'),
            world.record(1, 'host1'),
            [world.member('host1', world.runs(shard_key='a'))],
        )
        self.assertEqual(('host1', True), (decision.owner, decision.filtered))


class TestExclusiveNodes(DecideCase):
    def test_one_outside_of_every_filter_stays_and_is_marked(self) -> None:
        decision = self.decide(
            world.node(1, shard='c'),
            world.record(1, 'host1'),
            [world.member('host1', world.runs(shard_key='a'))],
        )
        self.assertEqual(
            Decision('host1', Reason.FILTERED_KEEPS, filtered=True), decision
        )

    def test_owner_whose_policies_are_unknown_is_not_marked(self) -> None:
        for owner in ('host1', 'stranger'):
            decision = self.decide(
                world.node(1),
                world.record(1, owner),
                [world.member('host1', world.UNKNOWN)],
            )
            self.assertEqual(
                (owner, False), (decision.owner, decision.filtered)
            )

    def test_node_never_leaves_a_service_that_owns_it_exclusively(
        self,
    ) -> None:
        """Also not for a ring that now admits it."""
        services = [model.Service('host9', settings=world.ALL)]
        decision = self.decide(
            world.node(1),
            world.record(1, 'host9'),
            world.members(world.RING, 'host1', 'host2'),
            services,
        )
        self.assertEqual('host9', decision.owner)

    def test_service_of_a_ring_of_one_takes_nothing(self) -> None:
        decision = self.decide(
            world.node(1),
            world.record(1, 'host2'),
            world.members(world.RING, 'host1'),
        )
        self.assertEqual(
            ('host2', 'host1'), (decision.owner, decision.wanted_by)
        )

    def test_service_without_peers_takes_nothing_from_another_ring(
        self,
    ) -> None:
        services = [model.Service('host9', settings=world.RING)]
        for runs in (
            world.ALL,
            world.runs(odd=None),
            world.runs(peer_list=('host1',)),
            world.runs(peer_list=('host1',), all=None),
        ):
            decision = self.decide(
                world.node(1),
                world.record(1, 'host9'),
                [world.member('host1', runs)],
                services,
            )
            self.assertEqual(
                ('host9', 'host1'), (decision.owner, decision.wanted_by)
            )

    def test_service_without_peers_releases_nothing(self) -> None:
        runs = world.runs(conductor_group='g', peer_list=())
        decision = self.decide(
            world.node(1, conductor_group='h'),
            world.record(1, 'host1'),
            world.members(runs, 'host1'),
        )
        self.assertEqual(
            ('host1', Reason.FILTERED_KEEPS),
            (decision.owner, decision.reason),
        )

    def test_record_keeps_it_when_the_policies_name_another(self) -> None:
        services = [model.Service('host1', settings=world.runs(shard_key='a'))]
        alive = [world.member('host2', world.runs(shard_key='b'))]
        decision = self.decide(
            world.node(1, shard='b'), world.record(1, 'host1'), alive, services
        )
        self.assertEqual(
            Decision(
                'host1',
                Reason.RECORD_KEEPS,
                filtered=True,
                wanted_by='host2',
            ),
            decision,
        )


class TestRebalancing(DecideCase):
    def test_free_node_that_leaves_the_group_is_let_go(self) -> None:
        runs = world.runs(conductor_group='g', peer_list=())
        decision = self.decide(
            world.node(1, conductor_group='h'),
            world.record(1, 'host1'),
            world.members(runs, 'host1', 'host2'),
        )
        self.assertIsNone(decision.owner)

    def test_unreadable_member_is_never_a_peer(self) -> None:
        for runs in (world.UNKNOWN, world.NEWER):
            for number in range(1, 8):
                decision = self.decide(
                    world.node(number),
                    members=[
                        *world.members(world.RING, 'host1'),
                        world.member('host2', runs),
                    ],
                )
                self.assertEqual('host1', decision.owner)

    def test_free_node_follows_the_ring(self) -> None:
        decision = self.decide(
            world.node(1),
            world.record(1, 'host1'),
            world.members(world.RING, 'host1', 'host2'),
        )
        self.assertEqual(Decision('host2', Reason.ASSIGNED), decision)

    def test_free_node_of_a_dead_peer_follows_the_ring(self) -> None:
        services = [model.Service('host2', settings=world.RING)]
        decision = self.decide(
            world.node(1),
            world.record(1, 'host2'),
            world.members(world.RING, 'host1'),
            services,
        )
        self.assertEqual('host1', decision.owner)

    def test_free_node_of_a_disabled_peer_follows_the_ring(self) -> None:
        services = [model.Service('host2', disabled=True, settings=world.RING)]
        decision = self.decide(
            world.node(1),
            world.record(1, 'host2'),
            world.members(world.RING, 'host1', 'host2'),
            services,
        )
        self.assertEqual('host1', decision.owner)


class TestReserving(DecideCase):
    def test_free_node_is_unowned(self) -> None:
        alive = world.members(world.RESERVING, 'host1', 'host2')
        for record in (None, world.record(1, None), world.record(1, 'host1')):
            self.assertEqual(
                Decision(None, Reason.UNASSIGNED),
                self.decide(world.node(1), record, alive),
            )

    def test_owner_that_is_alone_or_disabled_lets_a_free_node_go(self) -> None:
        disabled = model.Service(
            'host1', disabled=True, settings=world.RESERVING
        )
        for hosts, services in (
            (('host1',), ()),
            (('host1', 'host2'), (disabled,)),
        ):
            alive = world.members(world.RESERVING, *hosts)
            decision = self.decide(
                world.node(1), world.record(1, 'host1'), alive, services
            )
            self.assertIsNone(decision.owner)

    def test_reserved_node_stays_with_its_service(self) -> None:
        alive = world.members(world.RESERVING, 'host1', 'host2')
        for node, record in (
            (world.node(1, instance_uuid='i'), world.record(1, 'host1')),
            (world.node(1), world.record(1, 'host1', 'i')),
        ):
            decision = self.decide(node, record, alive)
            self.assertEqual(
                ('host1', Reason.INSTANCE_STAYS, None),
                (decision.owner, decision.reason, decision.wanted_by),
            )

    def test_service_without_the_policy_keeps_its_free_node(self) -> None:
        alive = [
            world.member('host1', world.RESERVING),
            world.member('host2', world.runs(shard_key='a')),
        ]
        decision = self.decide(
            world.node(1, shard='b'), world.record(1, 'host2'), alive
        )
        self.assertEqual(
            ('host2', Reason.RECORD_KEEPS), (decision.owner, decision.reason)
        )

    def test_disagreement_keeps_a_free_node_where_it_is(self) -> None:
        alive = [
            world.member('host1', world.RESERVING),
            world.member('host2', world.runs(shard_key='a')),
        ]
        decision = self.decide(
            world.node(1, shard='a'), world.record(1, 'host1'), alive
        )
        self.assertEqual(
            ('host1', Reason.CONTESTED_KEEPS),
            (decision.owner, decision.reason),
        )


class TestDisagreement(DecideCase):
    def test_in_a_conflict_the_owner_on_record_keeps_it(self) -> None:
        decision = self.decide(
            world.node(1),
            world.record(1, 'host2'),
            world.members(world.ALL, 'host1', 'host2'),
        )
        self.assertEqual(
            ('host2', Reason.RECORD_KEEPS, CONFLICT),
            (decision.owner, decision.reason, decision.contest),
        )

    def test_conflict_is_named_also_where_nothing_would_change(self) -> None:
        decision = self.decide(
            world.node(1),
            world.record(1, 'host1'),
            world.members(world.ALL, 'host1', 'host2'),
        )
        self.assertEqual(
            ('host1', CONFLICT), (decision.owner, decision.contest)
        )

    def test_different_lists_leave_a_free_node_unowned(self) -> None:
        alive = [
            world.member('host1', world.ALL),
            world.member('host2', world.RING),
        ]
        self.assertEqual(
            Decision(
                None,
                Reason.CONTESTED_UNOWNED,
                ('host1', 'host2'),
                CONTESTED,
            ),
            self.decide(world.node(1), members=alive),
        )

    def test_different_lists_leave_an_owned_node_with_its_owner(self) -> None:
        alive = [
            world.member('host1', world.ALL),
            *world.members(world.RING, 'host2', 'host3'),
        ]
        for owner in ('host1', 'host2', 'dead'):
            decision = self.decide(
                world.node(1), world.record(1, owner), alive
            )
            self.assertEqual(
                (owner, Reason.CONTESTED_KEEPS, CONTESTED),
                (decision.owner, decision.reason, decision.contest),
            )

    def test_two_rings_that_admit_one_node_disagree(self) -> None:
        alive = [
            *world.members(
                world.runs(peer_list=('host1', 'host2')), 'host1', 'host2'
            ),
            *world.members(world.runs(peer_list=('host3',)), 'host3'),
        ]
        self.assertIs(
            CONTESTED, self.decide(world.node(1), members=alive).contest
        )

    def test_same_filter_twice_goes_to_the_one_that_joined_first(
        self,
    ) -> None:
        alive = [
            world.member('host1', joined_at=2.0),
            world.member('host2', joined_at=1.0),
        ]
        self.assertEqual(
            Decision(
                'host2', Reason.CONFLICT_FIRST, ('host1', 'host2'), CONFLICT
            ),
            self.decide(world.node(1), members=alive),
        )


class Nonsense(policy.AssignerPolicy):
    """Returns the result that a test sets."""

    contract_version = 1
    answer = staticmethod(lambda nodes, hosts: hosts)

    def assign(self, nodes, hosts):
        return self.answer(nodes, hosts)


class TestNonsense(DecideCase):
    def refused(self, answer) -> str:
        class Fixed(Nonsense):
            pass

        Fixed.answer = staticmethod(answer)
        with self.assertRaises(exceptions.PluginFaultError) as caught:
            self.decide(
                world.node(1),
                members=world.members(world.runs(fixed=None), 'a', 'b'),
                classes={'fixed': Fixed},
            )
        self.assertIn('Fixed', str(caught.exception))
        return str(caught.exception)

    def test_too_few_or_too_many_owners_are_a_fault(self) -> None:
        self.assertIn('0 owners for 1', self.refused(lambda n, h: []))
        self.assertIn('2 owners for 1', self.refused(lambda n, h: ['a', 'b']))

    def test_owner_that_is_no_live_peer_is_a_fault(self) -> None:
        self.assertIn("'c'", self.refused(lambda n, h: ['c']))
        self.refused(lambda n, h: ['A'])

    def test_result_that_is_no_list_of_owners_is_a_fault(self) -> None:
        self.refused(lambda n, h: None)
        self.refused(lambda n, h: [['a']])

    def test_assigner_that_raises_is_a_fault(self) -> None:
        def fail(nodes, hosts):
            raise ZeroDivisionError('its own mistake')

        self.assertIn('its own mistake', self.refused(fail))

    def test_filter_that_raises_is_a_fault_that_names_it(self) -> None:
        class Failing(policy.FilterPolicy):
            contract_version = 1

            def admits(self, node):
                raise KeyError('its own mistake')

        with self.assertRaisesRegex(exceptions.PluginFaultError, 'Failing'):
            self.decide(
                world.node(1),
                members=world.members(world.runs(failing=None), 'a'),
                classes={'failing': Failing},
            )
