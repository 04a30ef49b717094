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
        self.ironic.put(world.node(1, shard='a', driver='fake'))
        self.ironic.put(world.node(2, shard='a', driver='fake'))
        self.source = self.start('host1', A)
        self.source.refresh()
        self.destination = self.start('host2', B)
        self.ironic.put(world.node(1, shard='b', driver='fake'))
        self.epochs = self.epochs_now()
        self.meanwhile: Callable[[], object] = lambda: None
        self.moves = SqlMoves(self.database)

    def pause(self, seconds: float) -> None:
        self.meanwhile()
        self.shared.clock.elapse(seconds)

    def operation_as(self, kind: type[T]) -> T:
        return kind(
            self.source.context.ports,
            self.moves,
            sharded=False,
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

    def execute(self, proposal: Proposal) -> Proposal:
        (result,) = self.operation.execute_all([proposal])
        return result

    def propose(self, uuid: str = NODE) -> Proposal:
        return self.operation.propose(
            Move('req-1', 'host2', 'operator'), Selection([uuid])
        )

    def move_node(self) -> tuple[NodeState, str | None]:
        (planned,) = self.execute(self.propose()).nodes
        node = planned.node
        return node.state, node.detail

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

    def test_node_that_gets_an_instance_meanwhile_goes_back(self) -> None:
        node = dataclasses.replace(
            self.ironic.nodes[NODE], shard='a', instance_uuid=world.uuid(901)
        )
        self.meanwhile = lambda: self.ironic.put(node)
        state, detail = self.move_node()
        self.assertIs(NodeState.REFUSED, state)
        self.assertIn('instance_changed: ', str(detail))
        (move,) = self.moves.moves()
        self.assertEqual({NodeState.REFUSED: 1}, move.counts)
        self.destination.refresh()
        self.source.refresh()
        self.assertEqual('host1', self.owners()[1])

    def test_node_that_is_operated_on_or_gone_meanwhile(self) -> None:
        node = dataclasses.replace(self.ironic.nodes[NODE], reservation='c1')
        self.meanwhile = lambda: self.ironic.put(node)
        state, detail = self.move_node()
        self.assertIs(NodeState.REFUSED, state)
        self.assertIn('no_operation_in_progress: ', str(detail))

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
        move = move_nodes.find(self.moves, 'req-1')
        # No service has claimed it yet.
        rest = self.operation.propose_rest(move, 'operator')
        (planned,) = self.execute(rest).nodes
        node = planned.node
        self.assertEqual((NodeState.MOVED, None), (node.state, node.detail))
        self.assertEqual(self.epochs, self.epochs_now())

    def test_released_node_of_a_lost_move_goes_back(self) -> None:
        proposal = self.propose()

        def lose() -> None:
            self.ironic.put(world.node(1, shard='a', driver='fake'))
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
        self.ironic.put(world.node(1, shard='a', driver='fake'))
        self.source.refresh()
        self.assertEqual('host1', self.owners()[1])
        self.ironic.put(world.node(1, shard='b', driver='fake'))
        move = move_nodes.find(self.moves, 'req-1')
        rest = self.operation.propose_rest(move, 'operator')
        (planned,) = self.execute(rest).nodes
        node = planned.node
        self.assertIs(NodeState.MOVED, node.state)

    def test_source_has_to_stop_for_any_other_node(self) -> None:
        node = self.ironic.nodes[NODE]
        deployed = dataclasses.replace(node, instance_uuid=world.uuid(901))
        self.ironic.put(deployed)
        self.assertEqual(1, len(self.propose().refused))
        self.ironic.put(node)
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
        self.destination.refresh()
        self.assertEqual('host1', self.owners()[1])
        self.assertEqual(['released'], self.release())
        self.assertEqual('host2', self.next_owner)
        self.assertIsNone(self.owners()[1])
        self.source.refresh()
        self.destination.refresh()
        self.assertEqual({1: 'host2', 2: 'host1'}, self.owners())
        self.assertEqual(self.epochs, self.epochs_now())

    def test_no_service_claims_it_before_permissions_end(self) -> None:
        owners = []

        def refresh() -> None:
            self.destination.refresh()
            owners.append(self.owners()[1])

        self.meanwhile = refresh
        self.release()
        self.assertEqual([None], owners)

    def test_unowned_node_is_unchanged(self) -> None:
        self.release()
        self.assertEqual(['unchanged'], self.release())

    def test_node_that_its_owner_would_claim_again_is_refused(self) -> None:
        self.assertEqual(['not_given_back'], self.release(world.uuid(2)))
        self.assertEqual('host1', self.owners()[2])

    def test_late_changes_are_refusals(self) -> None:
        for values, gate in (
            ({'reservation': 'c1'}, 'no_operation_in_progress'),
            ({'instance_uuid': world.uuid(901)}, 'no_instance'),
        ):
            node = world.node(1, shard='b', driver='fake', **values)
            self.meanwhile = lambda node=node: self.ironic.put(node)
            self.assertEqual([gate], self.release())
            self.ironic.put(world.node(1, shard='a', driver='fake'))
            self.source.refresh()
            self.ironic.put(world.node(1, shard='b', driver='fake'))

    def test_node_that_is_gone_meanwhile(self) -> None:
        self.meanwhile = lambda: self.ironic.nodes.pop(NODE)
        self.assertEqual(['node_exists'], self.release())
