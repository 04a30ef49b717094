"""Base of the commands that move nodes: propose, confirm, execute, show.

The operation runs in this process, or in the HTTP service, which carries out
a long one in the background.
"""

from __future__ import annotations

import argparse
import collections
import signal
import sys
import time
import types
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ironic_ownership.api import schemas
from ironic_ownership.api.resources import move_answers
from ironic_ownership.cli import base, change, errors, move_progress
from ironic_ownership.cli.arguments import Options, positive, reason
from ironic_ownership.cli.deadline import Deadline
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.contracts.moves import NodeState, Trial

Row = Mapping[str, Any]

_BY_WEIGHT = (
    errors.ExitCode.DONE,
    errors.ExitCode.DEGRADED,
    errors.ExitCode.REFUSED,
    errors.ExitCode.INTERRUPTED,
)


OPTIONS: Options = {
    'override': {
        'action': 'append',
        'nargs': None,
        'metavar': 'GATE',
        'help': 'move although this gate fails; needs --reason, may be '
        'repeated',
    },
    # An empty one is none.
    'reason': {'type': lambda text: reason(text) if text.strip() else None},
    'skip_invalid': {
        'default': False,
        'help': 'move the other nodes if some cannot be moved or are named '
        'wrongly, with the exit code 3; without it, one such node stops all '
        'of them',
    },
    'trial': {
        'type': positive,
        'metavar': 'N',
        'help': 'move N nodes first, and verify them: record, cell, Ironic, '
        'Placement, and that their new owner has refreshed with them, which '
        'takes up to three of its refresh intervals. Then the others follow; '
        'if a check fails, the N nodes go back, no other one moves, and the '
        'exit code is 3',
    },
}


class MoveCommand(base.Lister):
    """A command that moves nodes."""

    options = OPTIONS
    plan: ClassVar[schemas.Columns[Any]] = move_answers.PLAN
    node: ClassVar[schemas.Columns[Any]] = move_answers.NODE
    keys = (*schemas.keys(move_answers.NODE), 'gates (with --dry-run)')

    def summarize(self, answer: Row) -> None:
        """Report what a proposal has beyond its nodes."""

    def worsen(self, code: errors.ExitCode) -> None:
        """End with this code, unless something worse has happened."""
        self.exit_code = max(self.exit_code, code, key=_BY_WEIGHT.index)

    def question(self, planned: Sequence[Row]) -> str:
        """Return the question before the moves, without a question mark."""
        ends = [
            ', '.join(sorted({row[end] or 'no service' for row in planned}))
            for end in ('source', 'destination')
        ]
        nodes = texts.counted(len(planned), 'compute node')
        return f'Move {nodes} from {" to ".join(ends)}'

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        """Return the body of the request, without how to carry it out.

        :raises UsageError: before anything is read, if a gate is overridden
            without a reason, or the question could not be answered.
        """
        if parsed_args.override and not parsed_args.reason:
            raise errors.UsageError('--override needs --reason')
        if not (parsed_args.yes or parsed_args.dry_run or sys.stdin.isatty()):
            raise errors.UsageError(
                'standard input is not a terminal, so the command cannot ask: '
                'nothing was moved',
                hint='Add --yes, or --dry-run to see the proposal first',
            )
        given = super().body(parsed_args)
        if parsed_args.override:
            given['override'] = list(dict.fromkeys(parsed_args.override))
        return given

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Propose, unless ``--yes`` is given; confirm; execute; show."""
        body: Row = self.body(parsed_args)
        one, name = self.described, self.operation
        path = {p.name: getattr(parsed_args, p.name) for p in one.parameters}
        skips = parsed_args.skip_invalid
        trial = {**body, 'dry_run': True}
        if parsed_args.dry_run or not parsed_args.yes:
            answer = self.api.call(name, path=path, body=trial)
            self.summarize(answer)
            moves, unplaceable = _parts(answer)
            rows = [*_rows(moves), *unplaceable]
            refused = _of_state(rows, NodeState.REFUSED)
            totals = collections.Counter(row['destination'] for row in rows)
            self._report_trial(rows)
            if parsed_args.dry_run or (refused and not skips):
                self._report_refusal(refused, totals, skips=skips)
                if not parsed_args.dry_run:
                    rows = [*map(move_answers.failed, refused)]
                return self.rows(self.plan, rows)
            if planned := _of_state(rows, NodeState.PLANNED):
                change.confirm(parsed_args, self.question(planned))
        try:
            answer = self._execute(path, body)
        except exceptions.OwnershipError as exc:
            if exc.code != 'gates_failed':
                raise
            # No node can be moved. Those that need not move are in no refusal.
            if skips:
                proposal = self.api.call(name, path=path, body=trial)
                rows = _rows(_parts(proposal)[0])
                if not _of_state(rows, NodeState.PLANNED):
                    return self._show(_unexecuted(proposal))
                # The gates pass by now: the refusal tells what happened.
            found = exc.details
            self._report_refusal(
                found['nodes'], found['evaluated'], skips=False
            )
            return self.rows(move_answers.PLAN, found['nodes'])
        return self._show(answer)

    def _execute(self, path: Mapping[str, str], body: Row) -> Any:
        """Call the operation, and wait for moves that run in the background.

        :returns: the answer, with the nodes as they are in the end.
        """
        began = time.monotonic()
        with Progress(self.app.stderr, self.deadline) as progress:
            answer = self.api.call(
                self.operation,
                path=path,
                body=body,
                progress=progress,
                stopping=progress.is_to_stop,
            )
            moves = answer.get('moves', [answer])
            running = [move for move in moves if move['background']]
            if running:
                try:
                    move_progress.wait(
                        self.api, running, progress, progress.is_to_stop, began
                    )
                except exceptions.OwnershipError:
                    for move in running:
                        self.say(
                            f'"{errors.PROG} move show {move["request_id"]}" '
                            'shows whether the move goes on'
                        )
                    raise
            elif not progress.begun and (done := sum(map(_done, moves))):
                # The HTTP service has answered at the end.
                progress(done, done)
        for move in running:
            move_progress.refresh(self.api, move)
        return answer

    def _report_trial(self, rows: Sequence[Row]) -> None:
        """Report which nodes move first, if some do."""
        first = _in_trial(rows, Trial.FIRST)
        if first:
            planned = _of_state(rows, NodeState.PLANNED)
            rest = len(planned) - len(_of_state(first, NodeState.PLANNED))
            self.say(
                f'trial: {texts.counted(len(first), "node")} first: '
                f'{_names(first)}; '
                + (f'{rest} follow' if rest else 'these are all of them')
            )

    def _report_refusal(
        self, refused: Sequence[Row], totals: Mapping[str, int], *, skips: bool
    ) -> None:
        """Report the gates that refuse nodes.

        :param totals: the number of nodes, by destination.
        """
        by_destination = collections.defaultdict(list)
        for row in refused:
            by_destination[row['destination']].append(row)
        unplaceable = by_destination.pop('', ())
        if refused:
            self.worsen(errors.ExitCode.REFUSED)
        if refused and not skips:
            for destination, rows in by_destination.items():
                total = totals[destination]
                for sentence in move_answers.sentences(rows, total):
                    self.say(f'refused: {sentence}')
                others = '. --skip-invalid moves the others'
                self.say(
                    f'{len(rows)} of {total} nodes refused by a gate: nothing '
                    f'was moved{others if len(rows) < total else ""}'
                )
        if unplaceable:
            self.say(
                f'{texts.counted(len(unplaceable), "compute node")} of '
                f'{unplaceable[0]["source"]} cannot be moved to any service: '
                f'{_names(unplaceable)}'
            )

    def _show(self, answer: Row) -> base.Table:
        moves, unplaceable = _parts(answer)
        for move in moves:
            self._report(move)
        for destination in answer.get('not_started', ()):
            self.say(
                f'nothing was moved to {destination}: repeat the command to '
                'move the rest'
            )
        if unplaceable:
            self.worsen(errors.ExitCode.REFUSED)
        return self.rows(self.node, [*_rows(moves), *unplaceable])

    def _report(self, move: Row) -> None:
        """Report the result of one move, and choose the exit code."""
        counts = collections.Counter(row['state'] for row in move['nodes'])
        if not counts:
            return
        request_id = move['request_id']
        shown = ', '.join(f'{counts[s]} {s}' for s in NodeState if counts[s])
        destination = move['nodes'][0]['destination']
        self.say(f'{request_id}: to {destination}: {shown}')
        for warning in move['warnings']:
            self.app.LOG.warning('%s: %s', request_id, warning)
        on_trial = _in_trial(
            _of_state(move['nodes'], NodeState.MOVED), Trial.FIRST
        )
        if counts[NodeState.PLANNED] or on_trial:
            self.say(
                f'the move continues in the background: "{errors.PROG} move '
                f'show {request_id}" shows its progress'
                if move['background']
                else f'interrupted: "{errors.PROG} move resume {request_id}" '
                'resumes the move'
            )
            self.worsen(
                errors.ExitCode.DEGRADED
                if self.deadline and self.deadline.passed
                else errors.ExitCode.INTERRUPTED
            )
        passed = _in_trial(move['nodes'], Trial.PASSED)
        if passed:
            of_all = (
                '' if len(passed) < len(move['nodes']) else ', all of them'
            )
            self.say(
                f'{request_id}: the trial of '
                f'{texts.counted(len(passed), "node")}'
                f'{of_all} has passed'
            )
        back = _in_trial(move['nodes'], Trial.BACK)
        if back and not counts[NodeState.PLANNED]:
            self.say(
                f'{request_id}: the trial failed, '
                f'{texts.counted(len(back), "node")} went back unless '
                'a line says otherwise: '
                + texts.listed(
                    [f'{row["uuid"]}: {row["detail"]}' for row in back]
                )
            )
        if back or counts[NodeState.REFUSED]:
            self.worsen(errors.ExitCode.REFUSED)
        if move['warnings']:
            self.worsen(errors.ExitCode.DEGRADED)


class Progress:
    """Reports how many nodes are done, and takes the first Ctrl-C.

    Once nodes are moved, that is a request to stop. Before it, and at the
    second Ctrl-C, the command ends immediately. The time limit, if there is
    one, is such a request as well.

    :param stream: standard error.
    :ivar begun: whether nodes are moved.
    """

    def __init__(self, stream: Any, deadline: Deadline | None) -> None:
        self.begun = False
        self._stream = stream
        self._deadline = deadline
        self._interrupted = False
        self._reported_at = time.monotonic()

    def is_to_stop(self) -> bool:
        """Return whether the move is to stop."""
        limit = self._deadline
        return self._interrupted or bool(limit and limit.passed)

    def __call__(self, done: int, total: int) -> None:
        """Report, if the last time was long ago, and at the end."""
        now = time.monotonic()
        if done == 0:  # the nodes are about to be moved: let them complete
            self.begun = True
            if self._deadline is not None:
                self._deadline.allow_grace()
            self._reported_at = now
        if now - self._reported_at < move_progress.INTERVAL and done < total:
            return
        self._reported_at = now
        self._stream.write(f'{errors.PROG}: {done} of {total} nodes done\n')
        self._stream.flush()

    def __enter__(self) -> Progress:
        """Replace the handler of SIGINT."""
        self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        """Restore the handler."""
        signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: types.FrameType | None) -> None:
        if self._interrupted or not self.begun:
            signal.default_int_handler(number, frame)
        self._interrupted = True


def _done(move: Mapping[str, Any]) -> int:
    states = [row['state'] for row in move['nodes']]
    moved = states.count(NodeState.MOVED)
    refused: int = states.count(NodeState.REFUSED) - move['skipped']
    return moved + refused


def _in_trial(rows: Sequence[Row], part: Trial) -> list[Row]:
    return [row for row in rows if row.get('trial') == part]


def _parts(answer: Row) -> tuple[Sequence[Row], Sequence[Row]]:
    if 'moves' in answer:
        return answer['moves'], answer.get('unplaceable', [])
    return [answer], []


def _rows(moves: Sequence[Row]) -> list[Row]:
    return [row for move in moves for row in move['nodes']]


def _of_state(rows: Sequence[Row], state: NodeState) -> list[Row]:
    return [row for row in rows if row['state'] == state]


def _names(rows: Sequence[Row]) -> str:
    return texts.listed([row['name'] or row['uuid'] for row in rows])


def _unexecuted(proposal: Row) -> Row:
    """Return a proposal that moves no node in the form of a result."""
    request_id, rows = proposal['request_id'], proposal['nodes']
    return {
        **proposal,
        'nodes': [
            {**row, 'request_id': request_id, 'detail': _detail(row)}
            for row in rows
        ],
        'skipped': len(_of_state(rows, NodeState.REFUSED)),
        'background': False,
    }


def _detail(row: Row) -> str | None:
    failed = [
        f'{gate["gate"]}: {gate["detail"]}'
        for gate in row['gates']
        if gate['result'] == 'failed'
    ]
    return '; '.join(failed) or None
