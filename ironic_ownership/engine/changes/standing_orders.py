"""Standing orders: an operator decides beforehand about deployed nodes.

Exactly one service of the deployment carries them out at a time. It notes the
fence of each service with an order, and once the order is due, moves that
service's deployed nodes by the same code as ``compute node move``. A stored
move that its process could not finish is resumed first.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from oslo_log import log

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.moves import Move, StandingOrder
from ironic_ownership.contracts.records import Pause
from ironic_ownership.engine.changes import drain
from ironic_ownership.engine.changes.case import PlannedNode, Proposal
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.services import ServiceChange
from ironic_ownership.engine.conditions import NODES_TAKEN
from ironic_ownership.engine.host.enforcement import (
    NotEnforcedError,
    require_enforcement,
)
from ironic_ownership.engine.membership.failure_detector import Liveness
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Outbox, Records
from ironic_ownership.engine.suggestions import service_named
from ironic_ownership.engine.worker import Worker

if TYPE_CHECKING:
    from ironic_ownership.engine.decision import policy_set

LOG = log.getLogger(__name__)

LEASE = 120.0
"""Seconds after which another service carries the orders out."""

REFUSED = 'standing orders refused'
"""Condition: a gate refuses nodes that an order covers."""


def decide(
    host: str, rows: Iterable[model.Service], liveness: Liveness
) -> tuple[Sequence[model.Service], Sequence[model.Service]]:
    """Return what a service does about the others with an order. Pure.

    Nothing is done about one that may be alive, or is expected back.

    :returns: services whose fence has to be noted, the live ones of which are
        dead, and fenced by that; and those whose deployed nodes move.
    """
    to_note, due = [], []
    for row in rows:
        if row.order is None or row.host == host:
            continue
        if not row.may_lose_nodes(dead=liveness.is_dead(row.host)):
            continue
        if not row.fence_is_noted:
            to_note.append(row)
        elif row.order_due:
            due.append(row)
    return to_note, due


@dataclasses.dataclass(eq=False)
class StandingOrders(Worker):
    """Carries standing orders out while this service has the turn.

    :param context: with an Ironic client that no other thread uses.
    :param moves: the operation, with the same ports.
    :param turn: who carries the orders out.
    :param sender: unique name of this process.
    :param liveness: returns which services are dead.
    :param shared_key: of requests to Ironic.
    :param interval: returns the seconds between two steps.
    """

    context: ServiceContext
    moves: MoveNodes
    turn: Outbox
    sender: str
    liveness: Callable[[], Liveness]
    shared_key: str
    interval: Callable[[], float]

    condition = 'standing orders'
    fails = 'standing orders are not carried out'
    works = 'the standing orders loop works again'

    def __post_init__(self) -> None:
        super().__post_init__()
        self.conditions = self.context.conditions

    def step(self) -> float:
        """Do what is due for all services with an order."""
        # Without the right to act nothing is done, and that is no success.
        self.context.fence.lease()
        records = self.context.ports.records
        rows = {row.host: row for row in records.services()}
        self._report_taken(rows.get(self.context.host))
        to_note, due = decide(
            self.context.host, rows.values(), self.liveness()
        )
        stored = self.moves.moves.moves(unfinished=True, limit=None)
        rest = [move for move in stored if move.automatic]
        if not (to_note or due or rest):
            self.conditions.clear(REFUSED, 'no standing order waits')
        elif self._has_turn():
            self._follow_scope(rows.get(self.context.host))
            self._carry_out(to_note, due, rest)
        else:
            self.conditions.clear(REFUSED, 'another service has the turn')
        self.conditions.succeeded(Loop.ORDERS)
        return self.interval()

    def failed(self, error: Exception) -> float | None:
        """Report the error, and let another service try."""
        if isinstance(error, exceptions.FencedError):
            LOG.debug('standing orders skipped: %s', error)
            return self.interval()
        again_in = super().failed(error)
        try:
            self.turn.yield_turn(self.sender)
        except exceptions.RecordsError as exc:
            LOG.debug('the turn of the standing orders expires: %s', exc)
        return again_in

    def _has_turn(self) -> bool:
        return self.turn.claim(self.sender, lease=LEASE, max_age=LEASE).is_mine

    def _follow_scope(self, row: model.Service | None) -> None:
        """List nodes by shard while the own scope is one, also if reloaded."""
        interpret = self.context.ports.interpret
        policies = interpret(row.settings) if row is not None else None
        sharded = policies is None or policies.scope.shard is not None
        self.moves = dataclasses.replace(self.moves, sharded=lambda: sharded)

    def _interrupted(self) -> bool:
        return (
            self._stopping.is_set()
            or not self.context.fence.may_act
            or not self._has_turn()
        )

    def _carry_out(
        self,
        to_note: Sequence[model.Service],
        due: Sequence[model.Service],
        rest: Sequence[Move],
    ) -> None:
        context = self.context
        # One that came back since the last poll of the members may act; read
        # after the rows, they show it unless its epoch has changed.
        alive = context.ports.backend.view().hosts if to_note else ()
        for row in to_note:
            if row.host in alive and not row.forced_down:
                continue
            context.ports.records.note_fence(
                context.host, context.fence.epoch(), row
            )
        if not (due or rest):
            return
        require_enforcement(context.ports.ironic, self.shared_key)
        refused: list[PlannedNode] = []
        pauses = context.ports.records.pauses()
        # A pause leaves them planned; nodes beyond it move below.
        for move in () if pauses else rest:
            self._execute([self.moves.propose_rest(move, context.host)])
        for row in due:
            refused += self._take_over(row, pauses)
        self._report_refused(refused)

    def _take_over(
        self, row: model.Service, pauses: Sequence[Pause]
    ) -> Sequence[PlannedNode]:
        """Move the deployed nodes of a service; return those refused."""
        order = row.order
        if order is None:
            return ()
        found = drain.propose(
            self.moves,
            row.host,
            Move(
                new_request_id(),
                row.host,
                self.context.host,
                f'standing order of {order.actor} for {row.host}: '
                f'{order.reason}',
                automatic=True,
            ),
            to=order.to,
            holds=lambda one: any(
                pause.covers(one.shard, one.conductor_group)
                for pause in pauses
            ),
        )
        self._execute(found.moves)
        return [
            *found.unplaceable,
            *itertools.chain(*(move.refused for move in found.moves)),
        ]

    def _execute(self, proposals: Sequence[Proposal]) -> None:
        for result in self.moves.execute_all(
            proposals, stopping=self._interrupted
        ):
            for finding in result.findings:
                LOG.warning('%s: %s', result.order.request_id, finding)

    def _report_refused(self, refused: Sequence[PlannedNode]) -> None:
        if not refused:
            self.conditions.clear(REFUSED, 'no standing order waits')
            return
        first = refused[0].node
        self.conditions.report(
            REFUSED,
            f'{first.source} keeps '
            f'{texts.counted(len(refused), "deployed node")} in spite '
            f'of its standing order, for example {first.uuid}: {first.detail}',
            code='order_refused',
        )

    def _report_taken(self, row: model.Service | None) -> None:
        """Report what this service lost while it was away."""
        taken: Sequence[str] = ()
        if row is not None and row.fence_seen_at and not row.fenced:
            taken = self.moves.moves.taken_from(row.host, row.fence_seen_at)
        if row is None or not taken:
            self.conditions.clear(NODES_TAKEN, 'the loss of nodes is known')
            return
        self.conditions.report(
            NODES_TAKEN,
            f'while {row.host} was fenced, '
            f'{texts.counted(len(taken), "deployed node")} moved to '
            f'other services by its standing order, among them {taken[0]}; '
            'none moves back automatically',
            code='nodes_taken',
        )


def propose_order(
    records: Records,
    interpret: policy_set.Interpreter,
    host: str,
    order: StandingOrder | None,
    *,
    whole_scope: bool,
) -> list[ServiceChange]:
    """Return what an order would change, that of the host first.

    :param interpret: of the settings of services, for their scope.
    :param host: name of the service (case-insensitive).
    :param order: ``None`` revokes it.
    :param whole_scope: also of all services that advertise its scope.
    :raises NotFoundError: with the nearest names.
    :raises RequestError: if it names itself.
    :raises NotEnforcedError: for a service of release 1.0.
    """
    rows = [named] = [service_named(records, host)]
    if order is not None and order.to is not None:
        to = service_named(records, order.to).host
        order = dataclasses.replace(order, to=to)
        if to == named.host:
            raise exceptions.RequestError(
                [f'{to} cannot take over from itself'],
                hint='Name another service, or none: then the policies choose',
            )

    def scope_of(row: model.Service) -> model.Scope | None:
        policies = None if row.never_registered else interpret(row.settings)
        return policies.scope if policies else None

    def has(row: model.Service, scope: model.Scope) -> bool:
        with contextlib.suppress(exceptions.PluginFaultError):
            return scope_of(row) == scope
        return False

    if whole_scope:
        taker = order.to if order is not None else None
        scope = scope_of(named)
        rows += [
            row
            for row in records.services()
            if row.host not in (named.host, taker)
            and scope is not None
            and has(row, scope)
        ]
    unsigned = [
        row.host
        for row in rows
        if not (row.never_registered or row.settings.process)
    ]
    if order is not None and unsigned:
        raise NotEnforcedError(
            f'the release of {", ".join(unsigned)} does not sign its requests',
            'Upgrade it first',
        )
    return [
        ServiceChange(
            row,
            dataclasses.replace(
                row, order=order, fence_epoch=None, fence_seen_at=None
            ),
        )
        for row in rows
    ]
