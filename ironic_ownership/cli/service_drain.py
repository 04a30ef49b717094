"""``service drain``: the moves that empty a service, planned and made.

Each service that takes nodes gets a move of its own, with its own request
id. Every gate of every move is judged before the first node is moved.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ironic_ownership.cli import (
    base,
    confirmation,
    errors,
    operation_command,
    service_change,
)
from ironic_ownership.contracts.moves import NodeMove, NodeState
from ironic_ownership.engine import request_id, suggestions
from ironic_ownership.engine.ports import Ports
from ironic_ownership.observe import move as columns

if TYPE_CHECKING:
    from ironic_ownership.engine.moves import drain, executor
    from ironic_ownership.engine.moves.plan import Plan

_HOMELESS = (
    'destination_admits',
    'no other live and enabled service admits it',
)
_GONE = 'node_exists', 'Ironic answers 404 for its uuid'


class DrainService(operation_command.Moving):
    """Empty a service: move each of its nodes to a service that admits it.

    Only live and enabled services are given nodes; where several admit a
    node, the one with the fewest nodes gets it. The service itself has to be
    stopped, as for any move. If a node cannot be moved the exit code is 3,
    and nothing is moved unless --skip-invalid says so.
    """

    examples = (
        'service drain rack1a --dry-run',
        'service drain rack1a --yes',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        service_change.add_host(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Move everything that the service owns."""
        from ironic_ownership.engine.moves import executor

        asked = parsed_args
        self.check_terminal(asked)
        ports = self.ports_of(request_id.new_id())
        services = [row.host for row in ports.records.services()]
        host = suggestions.known_service(asked.host, services)
        planned = self._plan(host, ports)
        stays = _stays(host, planned)
        mover = executor.Mover(ports, self.wiring.ready_moves())
        plans = self._judge(host, planned, mover)
        blocked = bool(stays) or any(plan.refused for plan in plans)
        if blocked:
            self.exit_code = errors.ExitCode.REFUSED
        if asked.dry_run or (blocked and not asked.skip_invalid):
            return self._shown(host, asked, plans, stays)
        if not any(plan.count(NodeState.PLANNED) for plan in plans):
            self.say(f'service {host}: nothing to move')
        else:
            self._confirm_all(host, asked, plans)
        return self._carried_out(asked, mover, ports, plans, stays)

    def _plan(self, host: str, ports: Ports) -> drain.Drain:
        from ironic_ownership.contracts import model
        from ironic_ownership.engine.decision.peer_groups import PeerGroups
        from ironic_ownership.engine.moves import drain, selection

        services = ports.records.services()
        near = ports.records.compute_nodes_near(
            host, model.Scope(nothing=True)
        )
        owned = {r.uuid: r for r in near if r.host == host}
        nodes = selection.look_up(
            ports.source, list(owned), owned.values(), self.sharded
        )
        return drain.plan(
            host,
            owned,
            [node for node in nodes.values() if node is not None],
            PeerGroups.of(ports.backend.view(), services, ports.interpret),
            ports.records.counts(),
        )

    def _judge(
        self, host: str, planned: drain.Drain, mover: executor.Mover
    ) -> list[Plan]:
        from ironic_ownership.engine.moves import selection
        from ironic_ownership.engine.moves.plan import Order

        return [
            mover.plan(
                Order(
                    request_id.new_id(),
                    destination,
                    confirmation.actor(),
                    f'drain of {host}',
                ),
                selection.Selection(uuids, sharded=self.sharded),
            )
            for destination, uuids in planned.moves.items()
        ]

    def _shown(
        self,
        host: str,
        asked: argparse.Namespace,
        plans: Iterable[Plan],
        stays: Sequence[columns.Row],
    ) -> base.Table:
        keys, _ = self.table(columns.PLAN, ())
        rows: list[Sequence[Any]] = []
        for plan in plans:
            blocked = bool(plan.refused) and not asked.skip_invalid
            rows.extend(self._only_shown(asked, plan, blocked)[1])
        rows.extend(self.table(columns.PLAN, stays)[1])
        if stays:
            self.say(
                f'{len(stays)} compute nodes of {host} cannot be moved to '
                'any service'
            )
        return keys, rows

    def _confirm_all(
        self,
        host: str,
        asked: argparse.Namespace,
        plans: Iterable[Plan],
    ) -> None:
        numbers = ', '.join(
            f'{plan.count(NodeState.PLANNED)} to {plan.order.destination}'
            for plan in plans
        )
        confirmation.confirm(asked, f'Move from {host}: {numbers}')
        # That was one answer for all of the moves.
        asked.yes = True

    def _carried_out(
        self,
        asked: argparse.Namespace,
        mover: executor.Mover,
        ports: Ports,
        plans: Iterable[Plan],
        stays: Sequence[columns.Row],
    ) -> base.Table:
        keys, _ = self.table(columns.NODE, ())
        rows: list[Sequence[Any]] = []
        for plan in plans:
            if self.exit_code == errors.ExitCode.INTERRUPTED:
                self.say(
                    f'nothing was moved to {plan.order.destination}: repeat '
                    'the command to go on'
                )
                continue
            store = functools.partial(mover.store, plan)
            table = self.execute(asked, mover, ports, plan, store)
            rows.extend(table[1])
        rows.extend(self.table(columns.NODE, stays)[1])
        return keys, rows


def _stays(host: str, planned: drain.Drain) -> list[columns.Row]:
    """Return the nodes for which there is no service, as refused ones."""
    return [
        columns.Row(
            '',
            '',
            NodeMove(
                uuid,
                host,
                state=NodeState.REFUSED,
                detail=f'{gate}: {detail}',
            ),
            None,
            [{'gate': gate, 'result': 'failed', 'detail': detail}],
        )
        for uuids, (gate, detail) in (
            (planned.homeless, _HOMELESS),
            (planned.gone, _GONE),
        )
        for uuid in uuids
    ]
