from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.decision import Contest, Decision
from ironic_ownership.contracts.reasons import Reason
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

    def test_service_of_a_ring_of_one_takes_nothing(self) -> None:
        decision = self.decide(
            world.node(1),
            world.record(1, 'host2'),
            world.members(world.RING, 'host1'),
        )
        self.assertEqual(
            ('host2', 'host1'), (decision.owner, decision.wanted_by)
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


class TestReserving(DecideCase):
    def test_free_node_is_unowned(self) -> None:
        alive = world.members(world.RESERVING, 'host1', 'host2')
        for record in (None, world.record(1, None), world.record(1, 'host1')):
            self.assertEqual(
                Decision(None, Reason.UNASSIGNED),
                self.decide(world.node(1), record, alive),
            )

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
