from __future__ import annotations

import unittest

from hypothesis import given

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Change, Claim, Release, Update
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.host import reconcile_plan
from ironic_ownership.engine.membership.failure_detector import Liveness
from tests.unit.engine import snapshot_strategies, world

RINGS = world.members(world.RING, 'host1', 'host2')
HOST2 = [world.member('host2', world.RING)]

STOCK_UP = model.Service('host1', up_in_nova=True)
STOCK_DOWN = model.Service('host1', up_in_nova=False)
HOST1 = frozenset({'host1'})
SETTLED = Liveness(settled=True)
OPEN = Liveness(settled=True, suspect=HOST1)
PRESENT = Liveness(settled=True, present=HOST1)
DEAD = Liveness(settled=True, dead=HOST1)


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
    rows = {service.host: service for service in services}
    return reconcile_plan.Basis(
        host, by_uuid, rows, peer_groups, liveness
    ).plan(nodes, decide.decide(nodes, by_uuid, peer_groups))


def ring(host: str, **row) -> model.Service:
    return model.Service(host, settings=world.RING, **row)


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
        (release,) = plan_for('host1', [node], records).changes
        self.assertEqual(Release(node.uuid), release)
        self.assertIs(node, release.node)
        made = plan_for('host2', [node], records)
        self.assertEqual(([], {'host1': 1}), (made.changes, made.waiting))

    def test_dead_owner_loses_it_with_the_epoch_it_was_seen_with(self) -> None:
        node, named = world.node(1), world.runs(peer_list=('host1', 'host2'))
        down = ring('host1', epoch=7, forced_down=True, fenced=True)
        for name, members, services, epoch in (
            ('dead', HOST2, [ring('host1', epoch=7)], 7),
            ('forced down', RINGS, [down], 7),
            ('no row', [world.member('host2', named)], (), None),
        ):
            with self.subTest(name):
                records = [world.record(1, 'host1')]
                made = plan_for('host2', [node], records, members, services)
                self.assertEqual(
                    [Claim(node, Reason.ASSIGNED, 'host1', epoch)],
                    made.changes,
                )


class TestOwnNodes(unittest.TestCase):
    def test_each_difference_is_an_update(self) -> None:
        place = {'name': 'n', 'driver': 'd', 'shard': 's'}
        for values, record, differs in (
            ({'name': 'n'}, {}, True),
            ({'driver': 'd'}, {}, True),
            ({'shard': 's'}, {}, True),
            ({'conductor_group': 'g'}, {}, True),
            ({'instance_uuid': 'i'}, {}, True),
            # It is released with the next refresh.
            ({}, {'instance': 'i'}, True),
            (
                {'instance_uuid': 'i', **place},
                {'instance': 'i', **place},
                False,
            ),
            ({'power_state': 'power on', 'maintenance': True}, {}, False),
            ({'properties': {'a': 1}}, {}, False),
        ):
            for host in ('host1', 'host2') if record else ('host2',):
                with self.subTest(values, host=host):
                    node = world.node(1, **values)
                    on_record = world.record(1, host, **record)
                    made = plan_for(host, [node], [on_record])
                    updates = [Update(node)] if differs else []
                    self.assertEqual(
                        reconcile_plan.Plan(changes=updates), made
                    )

    def test_filtered_node_is_named_and_kept_up_to_date(self) -> None:
        node = world.node(1, shard='b', instance_uuid='i')
        alone = [world.member('host1', world.runs(shard_key='a'))]
        made = plan_for('host1', [node], [world.record(1, 'host1')], alone)
        self.assertEqual([node.uuid], made.filtered)
        self.assertEqual([Update(node)], made.changes)


class TestOthersNodes(unittest.TestCase):
    def test_each_owner_keeps_its_nodes_for_a_move_or_rightly(self) -> None:
        for name, number, instance, members, services, is_withheld in (
            ('exclusive', 1, None, [world.member('host2')], (), True),
            ('deployed, owner alive', 1, 'i', RINGS, (), False),
            ('deployed, owner dead', 1, 'i', HOST2, [ring('host1')], True),
            # Its nova-compute serves it; only a dead one's has to be moved.
            ('stock, alive', 4, None, HOST2, [STOCK_UP], False),
            ('stock, dead', 4, None, HOST2, [STOCK_DOWN], True),
        ):
            with self.subTest(name):
                node = world.node(number, instance_uuid=instance)
                record = world.record(number, 'host1', instance)
                made = plan_for('host2', [node], [record], members, services)
                withheld = {'host1': [node.uuid]} if is_withheld else {}
                self.assertEqual(reconcile_plan.Plan(withheld=withheld), made)

    def test_contested_node_is_named_and_left_alone(self) -> None:
        alive = [world.member('host1'), world.member('host2', world.RING)]
        for host in ('host1', 'host2'):
            made = plan_for(host, [world.node(1)], members=alive)
            self.assertEqual({world.uuid(1): None}, made.contested)
            self.assertEqual([], made.changes)

    def test_new_service_may_take_a_contested_node_by_a_move(self) -> None:
        old = world.members(world.RING, 'host1', 'host3')
        nodes = [world.node(1, shard='a')]
        records = [world.record(1, 'host1')]
        for settings in (world.ALL, world.runs(shard_key='a')):
            new = world.member('host2', settings)
            for host, owner in (
                ('host2', 'host1'),
                # It keeps it, and its peers do not want it.
                ('host1', None),
                ('host3', None),
            ):
                made = plan_for(host, nodes, records, [*old, new])
                self.assertEqual({world.uuid(1): owner}, made.contested)


class TestLaws(unittest.TestCase):
    @given(snapshot_strategies.moments())
    def test_one_service_changes_a_node_and_takes_none_from_the_living(
        self, moment
    ) -> None:
        """Nor one that is deployed; from one and the same moment."""
        groups = world.assemble(moment.members, moment.services.values())
        decided = decide.decide(moment.nodes, moment.records, groups)
        changed = set()
        for host in groups.alive:
            made = reconcile_plan.Basis(
                host, moment.records, moment.services, groups, SETTLED
            ).plan(moment.nodes, decided)
            for change in made.changes:
                self.assertNotIn(change.uuid, changed)
                changed.add(change.uuid)
                record = moment.records.get(change.uuid)
                owner = record.host if record else None
                if not isinstance(change, Claim):
                    self.assertEqual(host, owner)
                elif owner is not None:
                    self.assertEqual(owner, change.seen_host)
                    self.assertNotIn(owner, groups.alive)
                    self.assertIsNone(change.node.instance_uuid)
                    self.assertIsNone(record.instance_uuid)
                if isinstance(change, Release):
                    self.assertIsNone(record.instance_uuid)


class TestSuspects(unittest.TestCase):
    """host1 is not in the view; host2 and host3 are its peers.

    On record node 1 is host1's, node 2 is unowned, node 7 is host2's; with
    three members the ring gives them to host2, host3 and host3.
    """

    def plan(
        self, liveness: Liveness, host: str = 'host2', **row
    ) -> reconcile_plan.Plan:
        return plan_for(
            host,
            [world.node(number) for number in (1, 2, 3, 4, 6, 7)],
            [
                world.record(number, owner)
                for owner, numbers in (('host1', (1, 4)), ('host2', (6, 7)))
                for number in numbers
            ],
            world.members(world.RING, 'host2', 'host3'),
            [ring('host1', epoch=7, **row), ring('host2'), ring('host3')],
            liveness,
        )

    def both(self, liveness: Liveness, **row) -> list[Change]:
        return [
            change
            for host in ('host2', 'host3')
            for change in self.plan(liveness, host, **row).changes
        ]

    def owners(self, changes: list[Change]) -> set[str | None]:
        return {c.seen_host for c in changes if isinstance(c, Claim)}

    def test_nothing_moves_while_a_peer_may_be_alive(self) -> None:
        for liveness in (OPEN, Liveness(), PRESENT):
            self.assertEqual([], self.both(liveness))
            made = self.plan(liveness)
            self.assertEqual({'host1'}, made.suspects)
            self.assertGreater(made.deferred, 0)
        # All services may have been restarted.
        self.assertEqual([], self.both(Liveness(), fenced=True))

    def test_all_nodes_move_once_it_is_gone(self) -> None:
        changes = self.both(DEAD)
        self.assertEqual({None, 'host1'}, self.owners(changes))
        self.assertTrue(any(isinstance(c, Release) for c in changes))
        down = {'forced_down': True, 'fenced': True}
        self.assertEqual(changes, self.both(OPEN, **down))
        # The flag of a cell, which may be over, and fences nothing.
        self.assertEqual([], self.both(OPEN, forced_down=True))
        self.assertEqual(changes, self.both(OPEN, fenced=True))

    def test_service_missing_from_its_own_view_releases_nothing(self) -> None:
        """As in the first moments of a store that was restarted empty."""
        made = plan_for(
            'host2',
            [world.node(n) for n in range(1, 20)],
            [world.record(n, 'host2') for n in range(1, 20)],
            world.members(world.RING, 'host1', 'host3'),
            [ring('host2')],
            PRESENT,
        )
        self.assertEqual([], made.changes)
        self.assertEqual({'host2'}, made.suspects)

    def test_records_are_kept_up_to_date_meanwhile(self) -> None:
        node = world.node(1, driver='ipmi')
        made = plan_for(
            'host2',
            [node],
            [world.record(1, 'host2')],
            world.members(world.RING, 'host2', 'host3'),
            [ring('host1')],
            OPEN,
        )
        self.assertEqual([Update(node)], made.changes)

    def test_disabled_service_keeps_its_nodes_and_defers_no_other(
        self,
    ) -> None:
        changes = self.both(OPEN, disabled=True)
        self.assertNotEqual([], changes)
        self.assertNotIn('host1', self.owners(changes))

    def test_one_that_is_away_keeps_its_nodes_and_its_place(self) -> None:
        for liveness in (OPEN, DEAD, Liveness()):
            changes = self.both(liveness, away=True, fenced=True)
            self.assertNotIn('host1', self.owners(changes))
            self.assertEqual(
                frozenset(), self.plan(liveness, away=True).suspects
            )
        nodes = [world.node(n) for n in range(1, 20)]
        before, after = (
            plan_for('host2', nodes, members=alive, services=services).changes
            for alive, services in (
                (world.members(world.RING, 'host1', 'host2', 'host3'), ()),
                (
                    world.members(world.RING, 'host2', 'host3'),
                    [ring('host1', away=True)],
                ),
            )
        )
        self.assertEqual(before, after)

    def test_exclusive_and_first_services_wait_for_no_other(self) -> None:
        for settings, other in ((world.ALL, 'host1'), (world.RING, 'host2')):
            made = plan_for(
                'host2',
                [world.node(1), world.node(2)],
                members=world.members(settings, 'host2'),
                services=[model.Service(other, settings=settings)],
                liveness=Liveness(),
            )
            self.assertEqual((2, 0), (len(made.changes), made.deferred))


class TestLimit(unittest.TestCase):
    def test_changes_of_owner_are_limited_refused_ones_come_last(self) -> None:
        releases = [Release(world.uuid(n)) for n in range(4)]
        others = [
            Claim(world.node(8), Reason.ASSIGNED),
            Update(world.node(9)),
        ]
        changes: list[Change] = [
            *releases,
            *(
                Claim(world.node(n), Reason.ASSIGNED, 'host1', 7)
                for n in range(4, 8)
            ),
            *others,
        ]
        for limit in range(10):
            done = reconcile_plan.limited(changes, limit)
            moved = [c for c in done if reconcile_plan.hands_over(c)]
            self.assertEqual(min(limit, 8), len(moved))
            for other in others:
                self.assertIn(other, done)
        self.assertEqual(changes, reconcile_plan.limited(changes, 8))
        refused = {change.uuid for change in releases}
        for change in reconcile_plan.limited(changes, 3, refused):
            self.assertNotIn(change.uuid, refused)
