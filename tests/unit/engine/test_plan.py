from __future__ import annotations

import unittest

from hypothesis import given

from ironic_ownership.contracts import model
from ironic_ownership.contracts import records as port
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine import decide, plan
from tests.unit.engine import moments, world

RINGS = world.members(world.RING, 'host1', 'host2')


def plan_for(host, nodes, records=(), members=RINGS, services=()) -> plan.Plan:
    by_uuid = {record.uuid: record for record in records}
    roster = world.assemble(members, services)
    return plan.plan(
        host,
        nodes,
        decide.decide(nodes, by_uuid, roster),
        by_uuid,
        {service.host: service for service in services},
        roster,
    )


class TestClaims(unittest.TestCase):
    """Node 1 goes to host2, node 4 to host1."""

    def test_node_of_nobody_is_claimed_by_its_owner_alone(self) -> None:
        for records in ((), (world.record(1, None),)):
            node = world.node(1)
            self.assertEqual(
                [port.Claim(node, Reason.ASSIGNED)],
                plan_for('host2', [node], records).changes,
            )
            self.assertEqual([], plan_for('host1', [node], records).changes)

    def test_live_owner_releases_before_the_next_one_claims(self) -> None:
        node, records = world.node(1), [world.record(1, 'host1')]
        self.assertEqual(
            [port.Release(node.uuid)],
            plan_for('host1', [node], records).changes,
        )
        made = plan_for('host2', [node], records)
        self.assertEqual(([], 1), (made.changes, made.waiting))

    def test_dead_owner_loses_it_with_the_epoch_it_was_seen_with(self) -> None:
        node, records = world.node(1), [world.record(1, 'host1')]
        services = [model.Service('host1', epoch=7, settings=world.RING)]
        made = plan_for(
            'host2',
            [node],
            records,
            [world.member('host2', world.RING)],
            services,
        )
        self.assertEqual(
            [port.Claim(node, Reason.ASSIGNED, 'host1', 7)], made.changes
        )

    def test_forced_down_owner_is_not_waited_for(self) -> None:
        node, records = world.node(1), [world.record(1, 'host1')]
        services = [
            model.Service(
                'host1', epoch=7, forced_down=True, settings=world.RING
            )
        ]
        made = plan_for('host2', [node], records, RINGS, services)
        self.assertEqual(
            [port.Claim(node, Reason.ASSIGNED, 'host1', 7)], made.changes
        )

    def test_owner_whose_row_is_gone_has_no_epoch(self) -> None:
        named = world.runs(peer_list=('host1', 'host2'))
        made = plan_for(
            'host2',
            [world.node(1)],
            [world.record(1, 'host1')],
            [world.member('host2', named)],
        )
        self.assertEqual(
            [('host1', None)],
            [(c.seen_host, c.seen_epoch) for c in made.changes],
        )


class TestOwnNodes(unittest.TestCase):
    def test_record_that_agrees_is_left_alone(self) -> None:
        node = world.node(
            1, name='n', driver='d', shard='s', instance_uuid='i'
        )
        record = world.record(1, 'host2', 'i', name='n', driver='d', shard='s')
        self.assertEqual(plan.Plan(), plan_for('host2', [node], [record]))

    def test_each_difference_is_an_update(self) -> None:
        for values in (
            {'name': 'n'},
            {'driver': 'd'},
            {'shard': 's'},
            {'conductor_group': 'g'},
            {'instance_uuid': 'i'},
        ):
            node = world.node(1, **values)
            self.assertEqual(
                [port.Update(node)],
                plan_for('host2', [node], [world.record(1, 'host2')]).changes,
            )

    def test_instance_that_went_is_an_update_and_no_release_yet(self) -> None:
        node = world.node(1)
        self.assertEqual(
            [port.Update(node)],
            plan_for('host1', [node], [world.record(1, 'host1', 'i')]).changes,
        )

    def test_what_ironic_says_besides_is_no_difference(self) -> None:
        node = world.node(
            1, power_state='power on', maintenance=True, properties={'a': 1}
        )
        self.assertEqual(
            [], plan_for('host2', [node], [world.record(1, 'host2')]).changes
        )

    def test_filtered_node_is_named_and_kept_up_to_date(self) -> None:
        runs = world.runs(shard_key='a')
        node = world.node(1, shard='b', instance_uuid='i')
        made = plan_for(
            'host1',
            [node],
            [world.record(1, 'host1')],
            [world.member('host1', runs)],
        )
        self.assertEqual([node.uuid], made.filtered)
        self.assertEqual([port.Update(node)], made.changes)

    def test_free_node_that_nobody_gets_is_released(self) -> None:
        runs = world.runs(conductor_group='g', peer_list=())
        made = plan_for(
            'host1',
            [world.node(1)],
            [world.record(1, 'host1')],
            world.members(runs, 'host1', 'host2'),
        )
        self.assertEqual([port.Release(world.uuid(1))], made.changes)


class TestOthersNodes(unittest.TestCase):
    def test_exclusive_node_of_another_is_withheld(self) -> None:
        made = plan_for(
            'host2',
            [world.node(1), world.node(2)],
            [world.record(1, 'host1'), world.record(2, 'host1')],
            [world.member('host2')],
        )
        self.assertEqual(
            {'host1': [world.uuid(1), world.uuid(2)]}, made.withheld
        )
        self.assertEqual([], made.changes)

    def test_deployed_node_of_a_live_peer_needs_no_operator(self) -> None:
        made = plan_for(
            'host2',
            [world.node(1, instance_uuid='i')],
            [world.record(1, 'host1', 'i')],
        )
        self.assertEqual(plan.Plan(), made)

    def test_deployed_node_of_a_dead_peer_needs_an_operator(self) -> None:
        made = plan_for(
            'host2',
            [world.node(1, instance_uuid='i')],
            [world.record(1, 'host1', 'i')],
            [world.member('host2', world.RING)],
            [model.Service('host1', settings=world.RING)],
        )
        self.assertEqual({'host1': [world.uuid(1)]}, made.withheld)

    def test_contested_node_is_named_and_left_alone(self) -> None:
        alive = [world.member('host1'), world.member('host2', world.RING)]
        for host in ('host1', 'host2'):
            made = plan_for(host, [world.node(1)], members=alive)
            self.assertEqual([world.uuid(1)], made.contested)
            self.assertEqual([], made.changes)


def plans(moment) -> dict[str, plan.Plan]:
    """Return what each live service plans, from one and the same moment."""
    roster = world.assemble(moment.members, moment.services.values())
    decided = decide.decide(moment.nodes, moment.records, roster)
    return {
        host: plan.plan(
            host,
            moment.nodes,
            decided,
            moment.records,
            moment.services,
            roster,
        )
        for host in roster.alive
    }


class TestLaws(unittest.TestCase):
    @given(moments.moments())
    def test_no_two_services_change_one_node(self, moment) -> None:
        changed = [
            change.uuid
            for made in plans(moment).values()
            for change in made.changes
        ]
        self.assertEqual(len(changed), len(set(changed)))

    @given(moments.moments())
    def test_nothing_is_taken_from_the_living_or_the_deployed(
        self, moment
    ) -> None:
        made = plans(moment)
        for host in made:
            for change in made[host].changes:
                record = moment.records.get(change.uuid)
                owner = record.host if record else None
                if not isinstance(change, port.Claim):
                    self.assertEqual(host, owner)
                elif owner is not None:
                    self.assertEqual(owner, change.seen_host)
                    self.assertNotIn(owner, made)
                    self.assertIsNone(change.node.instance_uuid)
                    self.assertIsNone(record.instance_uuid)
                if isinstance(change, port.Release):
                    self.assertIsNone(record.instance_uuid)
