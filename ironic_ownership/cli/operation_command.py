"""Carry out a planned move in front of an operator.

Asks, shows progress, takes Ctrl-C as "stop after this batch", says how to go
on, and ends with the exit code that fits. Judges nothing itself.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ironic_ownership import wiring
from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import NodeMove, NodeState
from ironic_ownership.engine.ports import Ports
from ironic_ownership.observe import move as columns

if TYPE_CHECKING:
    from ironic_ownership.engine.moves import executor
    from ironic_ownership.engine.moves.plan import Order, Plan

_PROGRESS_INTERVAL = 1.0
"""Seconds between two lines of progress."""


class Moving(base.Lister):
    """A command that moves nodes."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser with what every such command takes."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help='show what would be done, with every gate, and change '
            'nothing',
        )
        parser.add_argument(
            '--yes', action='store_true', help='do not ask before moving'
        )
        parser.add_argument(
            '--skip-invalid',
            action='store_true',
            help='move the other nodes although some cannot be moved or are '
            'named wrongly; without it one of them keeps all where they are',
        )
        return parser

    @property
    def sharded(self) -> bool:
        """Whether every list of nodes has to name a shard: law 4."""
        return self.wiring.scope.shard is not None

    def say(self, text: str) -> None:
        """Write one line to standard error."""
        self.app.stderr.write(f'{errors.PROG}: {text}\n')

    def ports_of(self, request_id: str) -> Ports:
        """Return the ports; Ironic is told the request id."""
        wired = self.wiring
        return Ports(
            wired.ready_records(),
            wired.inventory_of(request_id),
            wired.backend,
            wiring.interpret,
        )

    def check_terminal(self, asked: argparse.Namespace) -> None:
        """Refuse to run where nobody can answer.

        :raises UsageError: before anything is read.
        """
        if asked.yes or asked.dry_run or sys.stdin.isatty():
            return
        raise errors.UsageError(
            'there is no terminal to ask whether to move',
            hint='Add --yes, or --dry-run to look first',
        )

    def execute(
        self,
        asked: argparse.Namespace,
        mover: executor.Mover,
        ports: Ports,
        plan: Plan,
        store: Callable[[], None],
    ) -> base.Table:
        """Carry a plan out, as far as the gates and the operator want it.

        :param store: is called before the first node is moved.
        """
        blocked = bool(plan.refused) and not asked.skip_invalid
        if asked.dry_run or blocked:
            return self._only_shown(asked, plan, blocked)
        if not plan.count(NodeState.PLANNED):
            self._tell(plan.order, [n.node for n in plan.nodes])
            if plan.refused:
                self.exit_code = errors.ExitCode.REFUSED
            return self._results(plan, [n.node for n in plan.nodes])
        self._confirm(asked, plan)
        from ironic_ownership.engine.moves.verification import Verification

        verification = Verification(
            ports,
            self.wiring.ready_moves(),
            self.wiring.placement_of(plan.order.request_id),
            sharded=self.sharded,
        )
        verification.remember_providers(
            n.node.uuid
            for n in plan.nodes
            if n.node.state is NodeState.PLANNED
        )
        store()
        result = self._carry_out(mover, plan)
        self._tell(plan.order, result.nodes)
        findings = verification.compare(
            plan.order.destination,
            [n for n in result.nodes if n.state is NodeState.MOVED],
        )
        for finding in findings:
            self.app.LOG.warning('%s: %s', plan.order.request_id, finding)
        self._choose_code(plan, result, findings)
        return self._results(plan, result.nodes)

    def _choose_code(
        self,
        plan: Plan,
        result: executor.Result,
        findings: Sequence[str],
    ) -> None:
        refused = result.count(NodeState.REFUSED)
        if result.interrupted:
            self.say(_how_to_resume('interrupted', plan.order.request_id))
            self.exit_code = errors.ExitCode.INTERRUPTED
        elif refused > len(plan.refused):  # beyond those that were skipped
            self.exit_code = errors.ExitCode.REFUSED
        elif findings:
            self.exit_code = errors.ExitCode.DEGRADED

    def _carry_out(self, mover: executor.Mover, plan: Plan) -> executor.Result:
        request_id = plan.order.request_id
        try:
            with stop_on_interrupt() as stopping:
                return mover.carry_out(
                    plan,
                    progress=Progress(self.app.stderr),
                    stopping=stopping,
                )
        except exceptions.OwnershipError as exc:
            raise exceptions.OwnershipError(
                f'{request_id}: {exc}',
                hint=_how_to_resume('The move is unfinished', request_id),
            ) from exc

    def _only_shown(
        self, asked: argparse.Namespace, plan: Plan, blocked: bool
    ) -> base.Table:
        if blocked:
            self.exit_code = errors.ExitCode.REFUSED
            for sentence in plan.summary():
                self.say(f'refused: {sentence}')
            self.say(
                f'{len(plan.refused)} of {len(plan.nodes)} nodes are refused '
                'by a gate: nothing was moved. --skip-invalid moves the '
                'others'
            )
        shown = plan.nodes if asked.dry_run else plan.refused
        return self.table(
            columns.PLAN,
            [
                columns.Row(
                    plan.order.request_id,
                    plan.order.destination,
                    planned.node,
                    planned.name,
                    planned.gates(every=asked.dry_run),
                )
                for planned in shown
            ],
        )

    def _confirm(self, asked: argparse.Namespace, plan: Plan) -> None:
        number = plan.count(NodeState.PLANNED)
        sources = {
            n.node.source or 'nobody'
            for n in plan.nodes
            if n.node.state is NodeState.PLANNED
        }
        confirmation.confirm(
            asked,
            f'Move {number} compute nodes from {", ".join(sorted(sources))} '
            f'to {plan.order.destination}',
        )

    def _tell(self, order: Order, nodes: Sequence[NodeMove]) -> None:
        counts = {
            state: sum(node.state is state for node in nodes)
            for state in NodeState
        }
        said = ', '.join(f'{n} {state}' for state, n in counts.items() if n)
        self.say(f'{order.request_id}: to {order.destination}: {said}')

    def _results(self, plan: Plan, nodes: Iterable[NodeMove]) -> base.Table:
        names = {n.node.uuid: n.name for n in plan.nodes}
        return self.table(
            columns.NODE,
            [
                columns.Row(
                    plan.order.request_id,
                    plan.order.destination,
                    node,
                    names.get(node.uuid),
                )
                for node in nodes
            ],
        )


def _how_to_resume(what: str, request_id: str) -> str:
    return f'{what}: "{errors.PROG} move resume {request_id}" goes on'


@contextlib.contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Take the first Ctrl-C as a request; a second one interrupts at once.

    :returns: tells whether to stop.
    """
    asked: list[int] = []

    def note(number: int, frame: types.FrameType | None) -> None:
        asked.append(number)
        signal.signal(number, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)


class Progress:
    """Says once in a while how far a long move is.

    :param stream: standard error.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._said_at = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Say it, if that is long enough ago, and a last time at the end."""
        now = time.monotonic()
        if now - self._said_at < _PROGRESS_INTERVAL and done < total:
            return
        self._said_at = now
        self._stream.write(f'{errors.PROG}: {done} of {total} nodes done\n')
        self._stream.flush()
