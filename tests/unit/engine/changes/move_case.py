"""Records, moves, a fake Ironic and members, for the moves of nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.backends import memory
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.conditions import Condition, Loop
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

NUMBERS = range(1, 31)
INTERVAL = 10.0
"""Seconds between two refreshes of a service, as it reports them."""


class ChangeCase(sqlite.SqliteCase):
    """Thirty nodes of one service, and the operation that moves them."""

    def setUp(self) -> None:
        super().setUp()
        database = self.open_with_schema()
        self.records, self.moves = SqlRecords(database), SqlMoves(database)
        self.ironic = fake_bare_metal.FakeBareMetal(map(self.node, NUMBERS))
        self.backend = memory.MemoryBackend(
            {}, member_ttl=3600, call_timeout=5, store=memory.MemoryStore()
        )
        self.ports = ports.Ports(
            self.records, self.ironic, self.backend, world.interpret
        )
        self.operation = self.operation_with(None)

    def node(self, number: int) -> model.Node:
        """Return a node of the fake Ironic."""
        raise NotImplementedError

    def operation_with(
        self, fake: placement.FakePlacement | None
    ) -> MoveNodes:
        ports_ = dataclasses.replace(self.ports, placement=fake)
        return MoveNodes(
            ports_, self.moves, sharded=lambda: False, permission_lifetime=0.0
        )

    def serve(self, host: str, settings: model.MemberSettings) -> int:
        """Start a service, and return its epoch."""
        # Its permissions end at once.
        settings = world.advertised(settings, 0.0)
        self.backend.join(host, 'one', settings)
        return self.records.register(host, settings)

    def claim(
        self,
        host: str,
        epoch: int,
        *nodes: model.Node,
        owner: str | None = None,
    ) -> list[str]:
        """Claim nodes as a service; return those that it may not.

        :param owner: on record.
        """
        claims = [
            Claim(node, reasons.Reason.EXCLUSIVE, owner) for node in nodes
        ]
        outcome = self.records.apply(host, epoch, claims)
        return [one.uuid for one in outcome.refused]

    def change(self, uuid: str, **values: object) -> None:
        """Change a node in Ironic."""
        node = self.ironic.nodes[uuid]
        self.ironic.put(dataclasses.replace(node, **values))

    def refreshes(
        self, host: str = 'new', succeeded: float = 60.0, **more: object
    ) -> None:
        """Report a refresh, some seconds after this moment."""
        refresh = Condition(Loop.REFRESH.value, succeeded, took=1.0)
        self.records.report_conditions(
            host,
            'one',
            [dataclasses.replace(refresh, **more)],
            interval=INTERVAL,
            at=0.0,
        )

    def execute(self, proposal: Proposal, **more) -> Proposal:
        (result,) = self.operation.execute_all([proposal], **more)
        return result

    def unfinished(self) -> Sequence[Move]:
        return self.moves.moves(unfinished=True)

    def resume(self) -> list[Proposal]:
        """Propose the rest of all moves, then carry it out."""
        rest = [
            self.operation.propose_rest(move, 'other')
            for move in self.unfinished()
        ]
        return [self.execute(one) for one in rest]


class MoveCase(ChangeCase):
    """``old`` is disabled and owns the nodes in two shards; ``new`` lives.

    :cvar settings: of ``new``.
    """

    settings = world.ALL

    def setUp(self) -> None:
        super().setUp()
        epoch = self.records.register('old', world.ALL)
        self.serve('new', self.settings)
        self.claim('old', epoch, *self.ironic.nodes.values())
        self.records.set_service('old', actor='test', disabled=True)

    def node(self, number: int) -> model.Node:
        return world.node(
            number,
            shard='a' if number % 2 else 'b',
            instance_uuid=f'i{number}' if number % 3 == 0 else None,
        )

    def propose(self, **selection) -> Proposal:
        order = Move(new_request_id(), 'new', 'operator')
        selection.setdefault('source', 'old')
        return self.operation.propose(order, Selection(**selection))

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
