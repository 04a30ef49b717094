"""Moves without servers: plans, batches, lists asked for, verification."""

from __future__ import annotations

from unittest import mock

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model, moves, reasons
from ironic_ownership.contracts.records import Claim, Report
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import ports, request_id
from ironic_ownership.engine.moves import executor as engine
from ironic_ownership.engine.moves import selection as moves_selection
from ironic_ownership.engine.moves.plan import Order, Plan
from ironic_ownership.engine.moves.verification import Verification
from ironic_ownership.engine.placement import inventory_diff
from ironic_ownership.testing import fakes
from tests.contract.suites import placement
from tests.unit.db import sqlite
from tests.unit.engine import world

MOVED, PLANNED = moves.NodeState.MOVED, moves.NodeState.PLANNED


class MovesTest(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        database = self.open_with_schema()
        self.records = SqlRecords(database)
        self.moves = SqlMoves(database)
        self.ironic = fakes.FakeInventory(
            world.node(
                number,
                shard='a' if number % 2 else 'b',
                instance_uuid=f'i{number}' if number % 3 == 0 else None,
            )
            for number in range(1, 31)
        )
        backend = memory.MemoryBackend(
            {}, member_ttl=20, call_timeout=5, store=memory.MemoryStore()
        )
        backend.join('new', 'one', world.ALL)
        epoch = self.records.register('old', world.ALL)
        self.records.register('new', world.ALL)
        self.records.apply(
            'old',
            epoch,
            [
                Claim(node, reasons.Reason.EXCLUSIVE)
                for node in self.ironic.nodes.values()
            ],
        )
        self.records.set_service('old', actor='test', disabled=True)
        self.ports = ports.Ports(
            self.records, self.ironic, backend, world.interpret
        )
        self.mover = engine.Mover(self.ports, self.moves)

    def plan(self, **selection) -> Plan:
        order = Order(request_id.new_id(), 'new', 'operator')
        selection.setdefault('source', 'old')
        plan = self.mover.plan(order, moves_selection.Selection(**selection))
        self.mover.store(plan)
        return plan

    def plan_rest(self, plan: Plan) -> Plan:
        move = engine.find(self.moves, plan.order.request_id)
        return self.mover.plan_rest(move, 'other', False)

    def scanned(self) -> list[model.Scope]:
        return [what for name, what in self.ironic.calls if name == 'scan']

    def verify(self, result, verification=None) -> list[str]:
        verification = verification or self.verification()
        return verification.compare(
            'new', [n for n in result.nodes if n.state is MOVED]
        )

    def verification(
        self, fake: placement.FakePlacement | None = None
    ) -> Verification:
        return Verification(self.ports, self.moves, fake, sharded=False)

    def test_whole_move_with_progress(self) -> None:
        told = []
        with mock.patch.object(engine, 'BATCH', 7):
            result = self.mover.carry_out(
                self.plan(), progress=lambda *now: told.append(now)
            )
        self.assertEqual(30, result.count(MOVED))
        self.assertFalse(result.interrupted)
        self.assertEqual(
            [(7, 30), (14, 30), (21, 30), (28, 30), (30, 30)], told
        )
        self.assertEqual([], self.verify(result))

    def test_stopped_move_goes_on_where_it_stopped(self) -> None:
        plan = self.plan()
        answers = iter((False, False, True))
        with mock.patch.object(engine, 'BATCH', 7):
            result = self.mover.carry_out(plan, stopping=lambda: next(answers))
        self.assertTrue(result.interrupted)
        self.assertEqual(14, result.count(MOVED))
        rest = self.plan_rest(plan)
        self.assertEqual(16, len(rest.nodes))
        result = self.mover.carry_out(rest)
        self.assertEqual(16, result.count(MOVED))
        rest = self.plan_rest(plan)
        self.assertEqual([], list(rest.nodes))

    def test_node_that_went_elsewhere_does_not_keep_the_rest(self) -> None:
        plan = self.plan()
        third = self.records.register('third', world.ALL)
        self.assertEqual(1, third)
        order = Order(request_id.new_id(), 'third', 'operator')
        self.moves.plan(
            moves.Move(order.request_id, 'third', 'operator'),
            [plan.nodes[0].node],
        )
        self.moves.carry_out(order.request_id, [plan.nodes[0].node])
        rest = self.plan_rest(plan)
        self.assertEqual([], list(rest.refused))
        result = self.mover.carry_out(rest)
        self.assertEqual(29, result.count(MOVED))
        self.assertEqual(1, result.count(moves.NodeState.REFUSED))

    def test_without_a_shard_key_many_nodes_are_few_lists(self) -> None:
        self.plan()
        self.assertEqual(
            [model.Scope(shard='a'), model.Scope(shard='b')], self.scanned()
        )
        self.assertNotIn('get', [name for name, _ in self.ironic.calls])

    def test_node_without_a_shard_on_record(self) -> None:
        for sharded, lists in (
            (False, [model.Scope()]),
            (True, [model.Scope(shard='a'), model.Scope(shard='b')]),
        ):
            found = moves_selection._lists({'a', 'b', None}, sharded)
            self.assertEqual(lists, found)

    def test_few_nodes_are_asked_for_one_by_one(self) -> None:
        self.plan(uuids=[world.uuid(1), world.uuid(2)])
        self.assertEqual([], self.scanned())

    def test_place_is_where_ironic_has_the_node_now(self) -> None:
        self.ironic.put(world.node(1, shard='b'), world.node(2, shard='a'))
        del self.ironic.nodes[world.uuid(4)]
        plan = self.plan(scope=model.Scope(shard='b'), source=None)
        selected = {n.node.uuid for n in plan.nodes}
        self.assertIn(world.uuid(1), selected)
        self.assertNotIn(world.uuid(2), selected)
        # Gone, and last seen there: the gate has to see it.
        self.assertIn(world.uuid(4), selected)
        self.assertEqual([world.uuid(4)], [n.node.uuid for n in plan.refused])

    def test_empty_selection_is_an_error(self) -> None:
        for selection in (
            {'source': 'new'},
            {'scope': model.Scope(shard='c')},
            {'uuids': []},
        ):
            with self.assertRaises(exceptions.NotFoundError):
                self.plan(**selection)

    def test_summary_counts_the_nodes_of_each_gate(self) -> None:
        self.records.set_service('old', actor='test', disabled=False)
        plan = self.plan()
        (sentence,) = plan.summary()
        self.assertIn('source_stopped: 30 of 30 nodes', sentence)

    def test_verification_tells_what_does_not_fit(self) -> None:
        result = self.mover.carry_out(self.plan())
        del self.ironic.nodes[world.uuid(1)]
        self.ironic.put(world.node(2, shard='b', instance_uuid='new one'))
        found = self.verify(result)
        self.assertEqual(2, len(found), found)
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        self.assertIn('could not be compared', self.verify(result)[0])

    def test_verification_tells_of_a_node_that_was_taken_away(self) -> None:
        result = self.mover.carry_out(self.plan())
        result = engine.Result(
            [*result.nodes, moves.NodeMove('x', 'old', state=MOVED)]
        )
        self.assertIn('nobody owns it', self.verify(result)[0])

    def test_changed_provider_is_told(self) -> None:
        plan = self.plan()
        uuids = [n.node.uuid for n in plan.nodes]
        fake = placement.FakePlacement(uuids)
        verification = self.verification(fake)
        verification.remember_providers(uuids)
        result = self.mover.carry_out(plan)
        self.assertEqual([], self.verify(result, verification))
        fake.put_traits(uuids[0], ['CUSTOM_NEW'])
        del fake.providers[uuids[1]]
        found = self.verify(result, verification)
        self.assertEqual(2, len(found), found)

    def test_what_the_new_owner_reported_meanwhile_is_no_change(self) -> None:
        plan = self.plan()
        first, second, third, *_ = uuids = [n.node.uuid for n in plan.nodes]
        fake = placement.FakePlacement(uuids)
        del fake.providers[third]
        verification = self.verification(fake)
        verification.remember_providers(uuids)
        result = self.mover.carry_out(plan)
        epoch = self.records.register('new', model.MemberSettings())
        for uuid in (first, second, third):
            fake.put_provider(uuid, uuid)
            fake.put_traits(uuid, ['CUSTOM_NEW'])
            digest = inventory_diff.wanted(
                model.Node(uuid, traits=('CUSTOM_NEW',)), None
            ).digest
            outcome = self.records.apply('new', epoch, [Report(uuid, digest)])
            self.assertEqual((), outcome.refused)
        fake.providers[second].consumers.add('an instance')
        (found,) = self.verify(result, verification)
        self.assertIn(second, found)

    def test_outage_of_placement_keeps_no_node(self) -> None:
        plan = self.plan()
        fake = placement.FakePlacement()
        fake.fail_with = exceptions.PlacementUnavailableError('down')
        verification = self.verification(fake)
        verification.remember_providers(n.node.uuid for n in plan.nodes)
        result = self.mover.carry_out(plan)
        self.assertEqual(30, result.count(MOVED))
        (found,) = self.verify(result, verification)
        self.assertIn('Placement could not be compared', found)
