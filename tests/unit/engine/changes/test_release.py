"""Planned hand-over: at no moment may two services act on a node."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, refusals
from ironic_ownership.contracts.moves import HandOver, Move, NodeState
from ironic_ownership.db import tables
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes.case import Proposal
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.release import ReleaseNodes, Releaser
from ironic_ownership.engine.changes.selection import Selection
from ironic_ownership.engine.gates import Result
from ironic_ownership.policies import filters
from tests.unit.engine import service, world

T = TypeVar('T', bound=Releaser)

NODE = world.uuid(1)
PERMISSION = 5.0
"""Seconds: the heartbeat interval of the services here."""

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
EVERYTHING = service.policy_set.PolicySet.of([filters.AllNodesPolicy({})])


class HandOverCase(service.ServiceCase):
    """``host1`` and ``host2`` are alive; node 1 is of ``host1``.

    :ivar meanwhile: runs after the release, before permissions end.
    """

    def setUp(self) -> None:
        super().setUp()
        self.put('a')
        self.ironic.put(world.node(2, shard='a', driver='fake'))
        self.source = self.start('host1', A)
        self.source.refresh()
        self.destination = self.start('host2', B)
        self.put('b')
        self.epochs = self.epochs_now()
        self.meanwhile: Callable[[], object] = lambda: None
        self.moves = SqlMoves(self.database)

    def put(self, shard: str, **values: str) -> None:
        self.ironic.put(world.node(1, shard=shard, driver='fake', **values))

    def pause(self, seconds: float) -> None:
        self.meanwhile()
        self.shared.clock.elapse(seconds)

    def operation_as(self, kind: type[T]) -> T:
        return kind(
            self.source.context.ports,
            self.moves,
            sharded=lambda: False,
            permission_lifetime=PERMISSION,
            pause=self.pause,
        )

    def epochs_now(self) -> dict[str, tuple[int, bool]]:
        return {
            row.host: (row.epoch, row.fenced)
            for row in self.records.services()
        }

    def may_act(self, one: service.Service) -> bool:
        """Tell whether a service gets a permission for the node now."""
        try:
            one.guard(EVERYTHING, PERMISSION).check(NODE)
        except exceptions.OwnershipError:
            return False
        return True


class TestMoveOfFreeNodes(HandOverCase):
    """``compute node move`` while source and destination serve."""

    def setUp(self) -> None:
        super().setUp()
        self.operation = self.operation_as(MoveNodes)

    def propose(self) -> Proposal:
        self.number = getattr(self, 'number', 0) + 1
        return self.operation.propose(
            Move(f'req-{self.number}', 'host2', 'operator'), Selection([NODE])
        )

    def execute(self, proposal: Proposal) -> tuple[NodeState, str | None]:
        (result,) = self.operation.execute_all([proposal])
        (planned,) = result.nodes
        return planned.node.state, planned.node.detail

    def execute_rest(self) -> tuple[NodeState, str | None]:
        move = move_nodes.find(self.moves, 'req-1')
        return self.execute(self.operation.propose_rest(move, 'operator'))

    def move_node(self) -> tuple[NodeState, str | None]:
        return self.execute(self.propose())

    def test_no_service_is_stopped(self) -> None:
        self.assertEqual((NodeState.MOVED, None), self.move_node())
        self.assertEqual({1: 'host2', 2: 'host1'}, self.owners())
        self.assertEqual(self.epochs, self.epochs_now())
        self.assertTrue(self.may_act(self.destination))
        self.assertFalse(self.may_act(self.source))

    def test_permission_of_the_source_ends_before(self) -> None:
        permission = self.source.guard(EVERYTHING, PERMISSION).check(NODE)
        seen = []

        def look() -> None:
            # It is still valid here, so the other one must not act.
            seen.append(permission.is_valid)
            seen.append(self.may_act(self.destination))
            self.destination.refresh()
            self.source.refresh()
            seen.append(self.may_act(self.destination))
            with self.assertRaises(exceptions.NotOwnerError):
                permission.confirm()

        self.meanwhile = look
        self.move_node()
        self.assertEqual([True, False, False], seen)
        self.assertFalse(permission.is_valid)
        self.assertTrue(self.may_act(self.destination))

    def test_lifetime_that_the_source_advertises_counts(self) -> None:
        """The file of the operator has a shorter time to live."""
        self.operation = dataclasses.replace(
            self.operation, permission_lifetime=PERMISSION / 5
        )
        self.test_permission_of_the_source_ends_before()

    def test_node_is_held_for_longer_than_permissions_last(self) -> None:
        """With a long time to live, also while nodes are read after that."""
        held: list[float] = []

        def read() -> None:
            until = sa.select(tables.compute_nodes.c.held_until)
            with self.database.engine.connect() as conn:
                (found,) = filter(None, conn.scalars(until))
            held.append(found - self.moves.now())

        self.meanwhile = read
        self.operation = dataclasses.replace(
            self.operation, permission_lifetime=200.0
        )
        self.move_node()
        self.assertGreater(held[0], 300.0)

    def test_refusals_of_another_process_do_not_end_a_hold(self) -> None:
        """It resumes the move while the first one releases the node."""
        proposal = self.propose()
        self.operation.store(proposal)
        permission = self.source.guard(EVERYTHING, PERMISSION).check(NODE)
        self.put('b', reservation='c1')
        move = move_nodes.find(self.moves, 'req-1')
        other = self.operation.propose_rest(move, 'other')
        self.put('b')
        seen = []

        def refuse() -> None:
            self.operation.store(other)
            self.destination.refresh()
            seen.append(permission.is_valid)
            seen.append(self.may_act(self.destination))

        self.meanwhile = refuse
        # As the first one, which did not resume it.
        proposal = dataclasses.replace(proposal, resumed=False)
        (_,) = self.operation.execute_all([proposal], stored=True)
        self.assertEqual([True, False], seen)

    def test_node_that_is_no_longer_free_goes_back(self) -> None:
        for values, gate in (
            ({'instance_uuid': world.uuid(901)}, 'instance_changed: '),
            ({'reservation': 'c1'}, 'no_operation_in_progress: '),
        ):
            self.put('b')
            self.meanwhile = lambda v=values: self.put('a', **v)
            state, detail = self.move_node()
            self.assertIs(NodeState.REFUSED, state)
            self.assertIn(gate, str(detail))
            move, *_ = self.moves.moves()
            self.assertEqual({NodeState.REFUSED: 1}, move.counts)
            self.put('a')
            self.destination.refresh()
            self.source.refresh()
            self.assertEqual('host1', self.owners()[1])

    def test_ironic_that_fails_meanwhile_leaves_a_move_to_resume(self) -> None:
        proposal = self.propose()

        def fail() -> None:
            self.ironic.fail_with = exceptions.IronicUnavailableError('down')

        self.meanwhile = fail
        with self.assertRaises(refusals.UnfinishedMoveError):
            self.execute(proposal)
        self.assertIsNone(self.owners()[1])
        self.ironic.fail_with = None
        self.meanwhile = lambda: None
        # No service has claimed it yet.
        self.assertEqual((NodeState.MOVED, None), self.execute_rest())
        self.assertEqual(self.epochs, self.epochs_now())

    def test_released_node_of_a_lost_move_goes_back(self) -> None:
        proposal = self.propose()

        def lose() -> None:
            self.put('a')
            with self.database.engine.begin() as conn:
                conn.execute(sa.delete(tables.node_moves))
                conn.execute(sa.delete(tables.moves))

        self.meanwhile = lose
        with self.assertRaises(refusals.LostMoveError):
            self.execute(proposal)
        self.source.refresh()
        self.assertEqual('host1', self.owners()[1])

    def test_unfinished_move_whose_source_took_its_node_back(self) -> None:
        proposal = self.propose()
        self.operation.store(proposal)
        self.moves.release(
            proposal.planned, HandOver('req-1', 'operator', 0.0)
        )
        self.put('a')
        self.source.refresh()
        self.assertEqual('host1', self.owners()[1])
        self.put('b')
        self.assertIs(NodeState.MOVED, self.execute_rest()[0])

    def test_node_that_another_process_has_moved_is_not_refused(self) -> None:
        self.operation.store(self.propose())
        move = move_nodes.find(self.moves, 'req-1')
        again = self.operation.propose_rest(move, 'other')
        self.assertIn(NODE, again.handed_over)
        self.assertEqual((NodeState.MOVED, None), self.execute_rest())
        self.assertEqual((NodeState.MOVED, None), self.execute(again))

    def test_source_has_to_stop_for_any_other_node(self) -> None:
        self.put('b', instance_uuid=world.uuid(901))
        self.assertEqual(1, len(self.propose().refused))
        self.put('b')
        self.assertEqual(1, len(self.propose().planned))
        # Neither alive nor stopped: perhaps it only can't be seen.
        self.settle(self.destination)
        self.assertEqual(1, len(self.propose().refused))
        self.settle(self.source)
        self.assertEqual(1, len(self.propose().refused))


class TestReleaseNodes(HandOverCase):
    """``compute node release``."""

    def release(self, uuid: str = NODE) -> list[str]:
        operation = self.operation_as(ReleaseNodes)
        (proposed,) = operation.propose([uuid])
        self.next_owner = proposed.next_owner
        (done,) = operation.execute([proposed], HandOver('req-1', 'operator'))
        if done.result is Result.REFUSED:
            return [result.gate for result in done.refused]
        return [done.result.value]

    def test_node_that_left_the_scope_follows_it(self) -> None:
        owners = []

        def refresh() -> None:
            self.destination.refresh()
            owners.append(self.owners()[1])

        refresh()
        # No service claims it before permissions end.
        self.meanwhile = refresh
        self.assertEqual(['released'], self.release())
        self.assertEqual('host2', self.next_owner)
        self.assertEqual(['host1', None], owners)
        self.assertEqual(['unchanged'], self.release())
        self.source.refresh()
        self.destination.refresh()
        self.assertEqual({1: 'host2', 2: 'host1'}, self.owners())
        self.assertEqual(self.epochs, self.epochs_now())

    def test_node_that_its_owner_would_claim_again_is_refused(self) -> None:
        self.assertEqual(['not_given_back'], self.release(world.uuid(2)))
        self.assertEqual('host1', self.owners()[2])

    def test_late_changes_are_refusals(self) -> None:
        for change, gate in (
            (
                lambda: self.put('b', reservation='c1'),
                'no_operation_in_progress',
            ),
            (
                lambda: self.put('b', instance_uuid=world.uuid(901)),
                'no_instance',
            ),
            (lambda: self.ironic.nodes.pop(NODE), 'node_exists'),
        ):
            self.meanwhile = change
            self.assertEqual([gate], self.release())
            self.put('a')
            self.source.beat()
            self.source.refresh()
            self.put('b')


class TestReturnedNode(HandOverCase):
    def test_permission_ends_before_its_record_is_deleted(self) -> None:
        """It is enrolled again at once, with its uuid, for another service."""
        self.put('a')
        permission = self.source.guard(EVERYTHING, PERMISSION).check(NODE)
        del self.ironic.nodes[NODE]
        self.source.refresh()
        self.assertNotIn(1, self.owners())
        self.put('b')
        self.destination.refresh()
        self.assertTrue(self.may_act(self.destination))
        self.assertFalse(permission.is_valid)
