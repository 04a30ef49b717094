"""Records, moves, a fake Ironic and members, for the moves of nodes."""

from __future__ import annotations

import dataclasses

from ironic_ownership.backends import memory
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.moves import Move
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import ports
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes.case import Proposal
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.selection import Selection
from tests.contract.suites import fake_bare_metal, placement
from tests.unit.db import sqlite
from tests.unit.engine import world


class MoveCase(sqlite.SqliteCase):
    """``old`` is disabled and owns 30 nodes in two shards; ``new`` lives.

    :cvar settings: of ``new``.
    """

    settings = world.ALL

    def setUp(self) -> None:
        super().setUp()
        database = self.open_with_schema()
        self.records = SqlRecords(database)
        self.moves = SqlMoves(database)
        self.ironic = fake_bare_metal.FakeBareMetal(
            world.node(
                number,
                shard='a' if number % 2 else 'b',
                instance_uuid=f'i{number}' if number % 3 == 0 else None,
            )
            for number in range(1, 31)
        )
        self.backend = memory.MemoryBackend(
            {}, member_ttl=3600, call_timeout=5, store=memory.MemoryStore()
        )
        self.backend.join('new', 'one', self.settings)
        epoch = self.records.register('old', world.ALL)
        self.records.register('new', self.settings)
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
            self.records, self.ironic, self.backend, world.interpret
        )
        self.operation = self.operation_with(None)

    def operation_with(
        self, fake: placement.FakePlacement | None
    ) -> MoveNodes:
        ports_ = dataclasses.replace(self.ports, placement=fake)
        return MoveNodes(
            ports_, self.moves, sharded=False, permission_lifetime=0.0
        )

    def propose(self, **selection) -> Proposal:
        order = Move(new_request_id(), 'new', 'operator')
        selection.setdefault('source', 'old')
        return self.operation.propose(order, Selection(**selection))

    def execute(self, proposal: Proposal, **more) -> Proposal:
        (result,) = self.operation.execute_all([proposal], **more)
        return result

    def plan(self, **selection) -> Proposal:
        proposal = self.propose(**selection)
        self.operation.store(proposal)
        return proposal

    def plan_rest(self, plan: Proposal) -> Proposal:
        move = move_nodes.find(self.moves, plan.order.request_id)
        return self.operation.propose_rest(move, 'other')

    def scanned(self) -> list[model.Scope]:
        return [what for name, what in self.ironic.calls if name == 'scan']

    def everything(self) -> tuple[object, ...]:
        """Return all that is on record."""
        return (
            self.records.services(),
            self.records.compute_nodes(),
            self.records.events(limit=1000),
            self.moves.moves(),
        )
