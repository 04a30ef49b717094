"""Decisions about one node, example by example."""

from __future__ import annotations

import unittest
from collections.abc import Iterable

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reasons import Contest, Decision, Reason
from ironic_ownership.engine.decision import decide
from tests.unit.engine import world

CONFLICT, CONTESTED = Contest.CONFLICT, Contest.CONTESTED
BOTH = ('host1', 'host2')
A = world.runs(shard_key='a')
GROUP = world.runs(conductor_group='g', peer_list=())
FREE, DEPLOYED = world.node(1), world.node(1, instance_uuid='i')
PEERS = world.members(world.RING, *BOTH)
RESERVING = world.members(world.RESERVING, *BOTH)
ALONE = world.members(world.RING, 'host1')


def of(host: str | None, instance: str | None = None) -> model.ComputeNode:
    """Return the record of node 1."""
    return world.record(1, host, instance)


def row(host: str, settings: model.MemberSettings, **more) -> model.Service:
    return model.Service(host, settings=settings, **more)


class DecideCase(unittest.TestCase):
    """A ring of ``host1`` and ``host2`` gives node 1 to ``host2``."""

    def check(
        self,
        expected: Decision,
        alive: Iterable[model.Member],
        node: model.Node = FREE,
        record: model.ComputeNode | None = None,
        *rows: model.Service,
    ) -> None:
        decided = decide.decide(
            [node],
            {} if record is None else {record.uuid: record},
            world.assemble(alive, rows),
        )
        self.assertEqual({node.uuid: expected}, decided)


class TestFreeNodes(DecideCase):
    def test_ring_spreads_what_it_admits_as_nova_does(self) -> None:
        for hosts, owners in (
            (BOTH, 'host2 host2 host2 host1'),
            ((*BOTH, 'host3'), 'host2 host3 host2 host1'),
        ):
            for number, owner in enumerate(owners.split(), 1):
                self.check(
                    Decision(owner, Reason.ASSIGNED),
                    world.members(world.RING, *hosts),
                    world.node(number),
                )

    def test_node_of_a_peer_follows_the_ring(self) -> None:
        self.check(
            Decision('host2', Reason.ASSIGNED), PEERS, FREE, of('host1')
        )
        to_the_other = Decision('host1', Reason.ASSIGNED)
        dead = row('host2', world.RING)
        self.check(to_the_other, ALONE, FREE, of('host2'), dead)
        disabled = row('host2', world.RING, disabled=True)
        self.check(to_the_other, PEERS, FREE, of('host2'), disabled)

    def test_node_that_leaves_the_group_of_several_is_let_go(self) -> None:
        node = world.node(1, conductor_group='h')
        for hosts, expected in (
            (BOTH, Decision(None, Reason.NOT_ADMITTED)),
            (
                BOTH[:1],
                Decision('host1', Reason.FILTERED_KEEPS, filtered=True),
            ),
        ):
            alive = world.members(GROUP, *hosts)
            self.check(expected, alive, node, of('host1'))


class TestDeployedNodes(DecideCase):
    def test_one_without_an_owner_is_adopted_by_its_service(self) -> None:
        adopted = Decision('host2', Reason.ADOPTED)
        for record in (None, of(None)):
            self.check(adopted, PEERS, DEPLOYED, record)
        unreadable = row('host3', world.UNKNOWN)
        released = world.record(1, None, released_by='deleted')
        self.check(adopted, PEERS, DEPLOYED, released, unreadable)
        # Only an unreadable service knows whether it admits the node.
        released = world.record(1, None, released_by='host3')
        self.check(
            Decision(None, Reason.RETURNED, wanted_by='host2'),
            *(PEERS, DEPLOYED, released, unreadable),
        )

    def test_it_stays_with_its_owner_dead_or_alive(self) -> None:
        stays = Decision('host1', Reason.INSTANCE_STAYS, wanted_by='host2')
        for alive in (PEERS, PEERS[1:]):
            self.check(
                stays, alive, DEPLOYED, of('host1'), row('host1', world.RING)
            )

    def test_one_that_leaves_the_scope_stays_and_is_marked(self) -> None:
        self.check(
            Decision('host1', Reason.INSTANCE_STAYS, filtered=True),
            [world.member('host1', A)],
            world.node(1, shard='b', instance_uuid='i'),
            of('host1'),
        )


class TestExclusiveNodes(DecideCase):
    def test_one_outside_of_every_filter_stays_and_is_marked(self) -> None:
        self.check(
            Decision('host1', Reason.FILTERED_KEEPS, filtered=True),
            [world.member('host1', A)],
            world.node(1, shard='c'),
            of('host1'),
        )
        # Without its policies no service knows whether it is.
        for owner in ('host1', 'stranger'):
            self.check(
                Decision(owner, Reason.FILTERED_KEEPS),
                [world.member('host1', world.UNKNOWN)],
                FREE,
                of(owner),
            )

    def test_service_without_peers_takes_nothing(self) -> None:
        for owner, of_owner, taker in (
            ('host2', None, world.RING),
            ('host9', world.RING, world.ALL),
            ('host9', world.RING, world.runs(odd=None)),
            ('host9', world.RING, world.runs(peer_list=('host1',))),
            ('host9', world.RING, world.runs(peer_list=('host1',), all=None)),
        ):
            with self.subTest(owner=owner, taker=taker):
                self.check(
                    Decision(owner, Reason.RECORD_KEEPS, wanted_by='host1'),
                    [world.member('host1', taker)],
                    FREE,
                    of(owner),
                    *([row(owner, of_owner)] if of_owner else []),
                )


class TestReserving(DecideCase):
    def test_free_node_is_unowned(self) -> None:
        unowned = Decision(None, Reason.UNASSIGNED)
        for record in (None, of(None), of('host1')):
            self.check(unowned, RESERVING, FREE, record)
        self.check(unowned, RESERVING[:1], FREE, of('host1'))
        disabled = row('host1', world.RESERVING, disabled=True)
        self.check(unowned, RESERVING, FREE, of('host1'), disabled)

    def test_reserved_node_stays_with_its_service(self) -> None:
        for node, record in (
            (DEPLOYED, of('host1')),
            (FREE, of('host1', 'i')),
        ):
            self.check(
                Decision('host1', Reason.INSTANCE_STAYS),
                *(RESERVING, node, record),
            )


class TestDisagreement(DecideCase):
    def test_in_a_conflict_the_owner_on_record_keeps_it(self) -> None:
        alive = world.members(world.ALL, *BOTH)
        self.check(
            Decision(
                'host2',
                Reason.RECORD_KEEPS,
                *(BOTH, CONFLICT),
                wanted_by='host1',
            ),
            *(alive, FREE, of('host2')),
        )
        # The one that joined first has it, and would get it.
        first = Decision('host1', Reason.CONFLICT_FIRST, BOTH, CONFLICT)
        for record in (None, of('host1')):
            self.check(first, alive[::-1], FREE, record)

    def test_different_lists_move_nothing(self) -> None:
        other = world.member('host3', world.ALL)
        ring = world.member('host3', world.runs(peer_list=('host3',)))
        listed = world.members(world.runs(peer_list=BOTH), *BOTH)
        hosts = (*BOTH, 'host3')
        for alive in ([*PEERS, other], [*listed, ring]):
            for owner in (None, 'host1', 'host3', 'dead'):
                reason = (
                    Reason.CONTESTED_KEEPS
                    if owner
                    else Reason.CONTESTED_UNOWNED
                )
                self.check(
                    Decision(owner, reason, hosts, CONTESTED),
                    *(alive, FREE, of(owner)),
                )
