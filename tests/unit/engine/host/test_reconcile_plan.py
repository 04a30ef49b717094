from __future__ import annotations

import unittest

from hypothesis import given

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Change, Claim, Release, Update
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.host import reconcile_plan
from ironic_ownership.engine.membership import failure_detector
from tests.unit.engine import snapshot_strategies, world

RINGS = world.members(world.RING, 'host1', 'host2')

SETTLED = failure_detector.Liveness(settled=True)
OPEN = failure_detector.Liveness(settled=True, suspect=frozenset({'host1'}))
DEAD = failure_detector.Liveness(settled=True, dead=frozenset({'host1'}))


def plan_for(
    host,
    nodes,
    records=(),
    members=RINGS,
    services=(),
    liveness=SETTLED,
) -> reconcile_plan.Plan:
    by_uuid = {record.uuid: record for record in records}
    peer_groups = world.assemble(members, services)
    return reconcile_plan.build(
        host,
        nodes,
        decide.decide(nodes, by_uuid, peer_groups),
        by_uuid,
        {service.host: service for service in services},
        peer_groups,
        liveness,
    )


class TestClaims(unittest.TestCase):
    """Node 1 goes to host2, node 4 to host1."""

    def test_unowned_node_is_claimed_by_its_owner_alone(self) -> None:
        for records in ((), (world.record(1, None),)):
            node = world.node(1)
            self.assertEqual(
                [Claim(node, Reason.ASSIGNED)],
                plan_for('host2', [node], records).changes,
            )
            self.assertEqual([], plan_for('host1', [node], records).changes)

    def test_live_owner_releases_before_the_next_one_claims(self) -> None:
        node, records = world.node(1), [world.record(1, 'host1')]
        self.assertEqual(
            [Release(node.uuid)], plan_for('host1', [node], records).changes
        )
        (release,) = plan_for('host1', [node], records).changes
        self.assertIs(node, release.node)
        made = plan_for('host2', [node], records)
        self.assertEqual(([], {'host1': 1}), (made.changes, made.waiting))

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
            [Claim(node, Reason.ASSIGNED, 'host1', 7)], made.changes
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
            [Claim(node, Reason.ASSIGNED, 'host1', 7)], made.changes
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
        self.assertEqual(
            reconcile_plan.Plan(), plan_for('host2', [node], [record])
        )

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
                [Update(node)],
                plan_for('host2', [node], [world.record(1, 'host2')]).changes,
            )

    def test_instance_that_went_is_an_update_and_no_release_yet(self) -> None:
        node = world.node(1)
        self.assertEqual(
            [Update(node)],
            plan_for('host1', [node], [world.record(1, 'host1', 'i')]).changes,
        )

    def test_other_fields_of_ironic_are_no_difference(self) -> None:
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
        self.assertEqual([Update(node)], made.changes)

    def test_free_node_without_a_new_owner_is_released(self) -> None:
        runs = world.runs(conductor_group='g', peer_list=())
        made = plan_for(
            'host1',
            [world.node(1)],
            [world.record(1, 'host1')],
            world.members(runs, 'host1', 'host2'),
        )
        self.assertEqual([Release(world.uuid(1))], made.changes)


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
        self.assertEqual(reconcile_plan.Plan(), made)

    def test_deployed_node_of_a_dead_peer_needs_an_operator(self) -> None:
        made = plan_for(
            'host2',
            [world.node(1, instance_uuid='i')],
            [world.record(1, 'host1', 'i')],
            [world.member('host2', world.RING)],
            [model.Service('host1', settings=world.RING)],
        )
        self.assertEqual({'host1': [world.uuid(1)]}, made.withheld)

    def test_node_of_a_live_stock_service_needs_no_operator(self) -> None:
        """Its nova-compute serves it; only a dead one's has to be moved."""
        for up_in_nova in (True, False):
            made = plan_for(
                'host2',
                [world.node(4)],
                [world.record(4, 'host1')],
                [world.member('host2', world.RING)],
                [model.Service('host1', up_in_nova=up_in_nova)],
            )
            wanted = {} if up_in_nova else {'host1': [world.uuid(4)]}
            self.assertEqual(wanted, made.withheld)

    def test_contested_node_is_named_and_left_alone(self) -> None:
        alive = [world.member('host1'), world.member('host2', world.RING)]
        for host in ('host1', 'host2'):
            made = plan_for(host, [world.node(1)], members=alive)
            self.assertEqual({world.uuid(1): None}, made.contested)
            self.assertEqual([], made.changes)

    def test_new_service_may_take_a_contested_node_by_a_move(self) -> None:
        ring = world.RING
        old = [world.member('host1', ring), world.member('host3', ring)]
        nodes = [world.node(1, shard='a')]
        records = [world.record(1, 'host1')]
        for settings in (world.ALL, world.runs(shard_key='a')):
            new = world.member('host2', settings)
            for host, owner in (
                ('host2', 'host1'),
                # It keeps it, and its peers do not want it.
                *(('host1', None), ('host3', None)),
            ):
                made = plan_for(host, nodes, records, [*old, new])
                self.assertEqual({world.uuid(1): owner}, made.contested)


def plans(moment) -> dict[str, reconcile_plan.Plan]:
    """Return what each live service plans, from one and the same moment."""
    peer_groups = world.assemble(moment.members, moment.services.values())
    decided = decide.decide(moment.nodes, moment.records, peer_groups)
    return {
        host: reconcile_plan.build(
            host,
            moment.nodes,
            decided,
            moment.records,
            moment.services,
            peer_groups,
            SETTLED,
        )
        for host in peer_groups.alive
    }


class TestLaws(unittest.TestCase):
    @given(snapshot_strategies.moments())
    def test_no_two_services_change_one_node(self, moment) -> None:
        changed = [
            change.uuid
            for made in plans(moment).values()
            for change in made.changes
        ]
        self.assertEqual(len(changed), len(set(changed)))

    @given(snapshot_strategies.moments())
    def test_nothing_is_taken_from_the_living_or_the_deployed(
        self, moment
    ) -> None:
        made = plans(moment)
        for host in made:
            for change in made[host].changes:
                record = moment.records.get(change.uuid)
                owner = record.host if record else None
                if not isinstance(change, Claim):
                    self.assertEqual(host, owner)
                elif owner is not None:
                    self.assertEqual(owner, change.seen_host)
                    self.assertNotIn(owner, made)
                    self.assertIsNone(change.node.instance_uuid)
                    self.assertIsNone(record.instance_uuid)
                if isinstance(change, Release):
                    self.assertIsNone(record.instance_uuid)


class TestSuspects(unittest.TestCase):
    """host1 is not in the view; host2 and host3 are its peers.

    On record node 1 is host1's, node 2 is unowned, node 7 is host2's; with
    three members the ring gives them to host2, host3 and host3.
    """

    def plan(self, liveness, host='host2', **row) -> reconcile_plan.Plan:
        self.services = [
            model.Service('host1', epoch=7, settings=world.RING, **row),
            model.Service('host2', epoch=1, settings=world.RING),
            model.Service('host3', epoch=1, settings=world.RING),
        ]
        return plan_for(
            host,
            [world.node(number) for number in (1, 2, 3, 4, 6, 7)],
            [
                *(world.record(number, 'host1') for number in (1, 4)),
                *(world.record(number, 'host2') for number in (6, 7)),
            ],
            world.members(world.RING, 'host2', 'host3'),
            self.services,
            liveness,
        )

    def both(self, liveness, **row) -> list[Change]:
        return [
            change
            for host in ('host2', 'host3')
            for change in self.plan(liveness, host, **row).changes
        ]

    def owners(self, changes) -> set[str | None]:
        return {c.seen_host for c in changes if isinstance(c, Claim)}

    def test_nothing_moves_while_a_peer_may_be_alive(self) -> None:
        for liveness in (
            OPEN,
            failure_detector.Liveness(),
            failure_detector.Liveness(
                settled=True, present=frozenset({'host1'})
            ),
        ):
            self.assertEqual([], self.both(liveness))
            made = self.plan(liveness)
            self.assertEqual({'host1'}, made.suspects)
            self.assertGreater(made.deferred, 0)

    def test_service_missing_from_its_own_view_releases_nothing(self) -> None:
        """As in the first moments of a store that was restarted empty."""
        made = plan_for(
            'host2',
            [world.node(n) for n in range(1, 20)],
            [world.record(n, 'host2') for n in range(1, 20)],
            world.members(world.RING, 'host1', 'host3'),
            [model.Service('host2', settings=world.RING)],
            failure_detector.Liveness(
                settled=True, present=frozenset({'host1'})
            ),
        )
        self.assertEqual([], made.changes)
        self.assertEqual({'host2'}, made.suspects)

    def test_all_nodes_move_once_it_is_dead(self) -> None:
        changes = self.both(DEAD)
        self.assertEqual({None, 'host1'}, self.owners(changes))
        self.assertTrue(any(isinstance(c, Release) for c in changes))

    def test_records_are_kept_up_to_date_meanwhile(self) -> None:
        made = plan_for(
            'host2',
            [world.node(1, driver='ipmi')],
            [world.record(1, 'host2')],
            world.members(world.RING, 'host2', 'host3'),
            [model.Service('host1', settings=world.RING)],
            OPEN,
        )
        self.assertEqual([Update(world.node(1, driver='ipmi'))], made.changes)

    def test_forced_down_or_retired_one_is_not_waited_for(self) -> None:
        all_changes = self.both(DEAD)
        self.assertEqual(all_changes, self.both(OPEN, forced_down=True))
        self.assertEqual(all_changes, self.both(OPEN, fenced=True))

    def test_unsettled_observer_waits_for_a_retired_service(self) -> None:
        """All services may have been restarted."""
        self.assertEqual(
            [], self.both(failure_detector.Liveness(), fenced=True)
        )

    def test_disabled_service_keeps_its_nodes_and_defers_no_other(
        self,
    ) -> None:
        changes = self.both(OPEN, disabled=True)
        self.assertNotEqual([], changes)
        self.assertNotIn('host1', self.owners(changes))

    def test_one_that_is_away_keeps_its_nodes(self) -> None:
        for liveness in (OPEN, DEAD, failure_detector.Liveness()):
            changes = self.both(liveness, away=True, fenced=True)
            self.assertNotIn('host1', self.owners(changes))
            self.assertEqual(
                frozenset(), self.plan(liveness, away=True).suspects
            )

    def test_ring_is_the_same_while_one_is_away_as_before(self) -> None:
        before = plan_for(
            'host2',
            [world.node(n) for n in range(1, 20)],
            members=world.members(world.RING, 'host1', 'host2', 'host3'),
        )
        after = plan_for(
            'host2',
            [world.node(n) for n in range(1, 20)],
            members=world.members(world.RING, 'host2', 'host3'),
            services=[model.Service('host1', settings=world.RING, away=True)],
        )
        self.assertEqual(before.changes, after.changes)

    def test_exclusive_service_waits_for_no_other(self) -> None:
        made = plan_for(
            'host2',
            [world.node(1), world.node(2)],
            members=world.members(world.ALL, 'host2'),
            services=[model.Service('host1', settings=world.ALL)],
            liveness=failure_detector.Liveness(),
        )
        self.assertEqual((2, 0), (len(made.changes), made.deferred))

    def test_first_service_waits_for_no_other(self) -> None:
        made = plan_for(
            'host2',
            [world.node(1), world.node(2)],
            members=world.members(world.RING, 'host2'),
            services=[model.Service('host2', settings=world.RING)],
            liveness=failure_detector.Liveness(),
        )
        self.assertEqual((2, 0), (len(made.changes), made.deferred))


class TestLimit(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.releases = [Release(world.uuid(n)) for n in range(4)]
        self.inherited = [
            Claim(world.node(n), Reason.ASSIGNED, 'host1', 7)
            for n in range(4, 8)
        ]
        self.others = [
            Claim(world.node(8), Reason.ASSIGNED),
            Update(world.node(9)),
        ]
        self.changes = [*self.releases, *self.inherited, *self.others]

    def test_only_changes_of_owner_are_limited(self) -> None:
        for limit in range(10):
            done = reconcile_plan.limited(self.changes, limit)
            moved = [
                change for change in done if reconcile_plan.hands_over(change)
            ]
            self.assertEqual(min(limit, 8), len(moved))
            for other in self.others:
                self.assertIn(other, done)

    def test_changes_within_the_limit_keep_their_order(self) -> None:
        self.assertEqual(self.changes, reconcile_plan.limited(self.changes, 8))

    def test_refused_changes_come_last(self) -> None:
        refused = {change.uuid for change in self.releases}
        done = reconcile_plan.limited(self.changes, 3, refused)
        for change in done:
            self.assertNotIn(change.uuid, refused)
