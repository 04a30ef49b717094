"""Execution of a move at a terminal: progress, Ctrl-C, time limit, polling."""

from __future__ import annotations

import signal
import time
import types
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.api.operation_client import OperationClient
from ironic_ownership.cli import base, errors
from ironic_ownership.cli.deadline import Deadline
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import NodeState, Trial

INTERVAL = 1.0
"""Seconds between two lines of progress, and between two polls."""

STALL_TIME = 120.0
"""Seconds without progress until a move in the background has failed."""

TRIAL_TIME = 3600.0
"""The same for a trial, which waits for refreshes of its new owner."""


def execute(
    command: base.Shown[Any], path: Mapping[str, str], body: Mapping[str, Any]
) -> Any:
    """Call its operation, and wait for moves that run in the background.

    :returns: the answer, with the nodes as they are in the end.
    """
    began, api = time.monotonic(), command.api
    with Progress(command.app.stderr, command.deadline) as progress:
        answer = api.call(
            command.operation,
            path=path,
            body=body,
            progress=progress,
            stopping=progress.is_to_stop,
        )
        moves = answer.get('moves', [answer])
        running = [move for move in moves if move['background']]
        if running:
            try:
                _wait(api, running, progress, began)
            except exceptions.OwnershipError:
                for move in running:
                    command.say(
                        f'"{errors.PROG} move show {move["request_id"]}" '
                        'shows whether the move goes on'
                    )
                raise
        elif not progress.begun and (done := sum(map(_done, moves))):
            progress(done, done)  # the HTTP service has answered at the end
    for move in running:
        _refresh(api, move)
    return answer


class Progress:
    """Reports how many nodes are done, and takes the first Ctrl-C.

    Once nodes are moved, that is a request to stop. Before it, and at the
    second Ctrl-C, the command ends immediately. The time limit, if there is
    one, is such a request as well.

    :param stream: standard error.
    :ivar begun: whether nodes are moved.
    """

    def __init__(self, stream: Any, deadline: Deadline) -> None:
        self.begun = False
        self._stream = stream
        self._deadline = deadline
        self._interrupted = False
        self._reported_at = time.monotonic()

    def is_to_stop(self) -> bool:
        """Return whether the move is to stop."""
        return self._interrupted or self._deadline.passed

    def __call__(self, done: int, total: int) -> None:
        """Report, if the last time was long ago, and at the end."""
        now = time.monotonic()
        if done == 0:  # the nodes are about to be moved: let them complete
            self.begun = True
            self._deadline.allow_grace()
            self._reported_at = now
        if now - self._reported_at < INTERVAL and done < total:
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


def _wait(
    api: OperationClient,
    moves: list[dict[str, Any]],
    progress: Progress,
    began: float,
) -> None:
    """Poll moves until they are done, or the operator interrupts.

    :param began: before they were requested, by the monotonic clock.
    :raises OwnershipError: if the HTTP service reports the end of its work
        with an error, or a move makes no progress any more.
    """
    rows = [row for move in moves for row in move['nodes']]
    total = sum(row['state'] == NodeState.PLANNED for row in rows)
    patience = TRIAL_TIME if any(r.get('trial') for r in rows) else STALL_TIME
    remaining, changed_at = total, time.monotonic()
    runs = False
    progress(0, total)
    while (remaining or runs) and not progress.is_to_stop():
        time.sleep(INTERVAL)
        states = [
            api.call(
                'move:show',
                path={'request_id': move['request_id']},
                query={'nodes': False},
            )
            for move in moves
        ]
        elapsed = time.monotonic() - began
        runs = False
        for move, state in zip(moves, states, strict=True):
            if (task := current(state.get('task'), elapsed)) is not None:
                runs |= task['age'] is None
                move['warnings'] = task['warnings']
        now = sum(
            state[NodeState.PLANNED] + state.get('on_trial', 0)
            for state in states
        )
        if now != remaining:
            remaining, changed_at = now, time.monotonic()
            progress(total - remaining, total)
        elif time.monotonic() - changed_at > patience:
            if not remaining:
                return
            raise _stalled(
                [s['request_id'] for s in states if s[NodeState.PLANNED]],
                patience,
            )


def current(
    task: Mapping[str, Any] | None, elapsed: float
) -> Mapping[str, Any] | None:
    """Return the work of the HTTP service, unless it is that before.

    A service of several processes does not know it in each of them.

    :param elapsed: seconds since the move was requested.
    :raises OwnershipError: if the work has failed.
    """
    if task is None or (task['age'] or 0.0) > elapsed:
        return None
    if (error := task['error']) is not None:
        # Imported by now: only a client of the HTTP service gets here.
        from ironic_ownership.clients import ownership

        raise ownership.RemoteError(
            error['code'], error['message'], hint=error['hint']
        )
    return task


def _stalled(
    unfinished: Sequence[str], patience: float
) -> exceptions.OwnershipError:
    commands = ', '.join(
        f'"{errors.PROG} move resume {i}"' for i in unfinished
    )
    return exceptions.OwnershipError(
        f'{", ".join(unfinished)}: no progress for {patience:.0f} seconds',
        hint='The log of the HTTP service has the cause. To resume: '
        f'{commands}',
    )


def _done(move: Mapping[str, Any]) -> int:
    states = [row['state'] for row in move['nodes']]
    moved = states.count(NodeState.MOVED)
    refused: int = states.count(NodeState.REFUSED) - move['skipped']
    return moved + refused


def on_trial(move: Mapping[str, Any]) -> bool:
    """Tell whether nodes have moved that are still to be verified."""
    return any(
        row.get('trial') == Trial.FIRST and row['state'] == NodeState.MOVED
        for row in move['nodes']
    )


def _refresh(api: OperationClient, move: dict[str, Any]) -> None:
    path = {'request_id': move['request_id']}
    stored = api.call('move:show', path=path)['nodes']
    by_uuid = {node['uuid']: node for node in stored}
    move['nodes'] = [
        row | by_uuid.get(row['uuid'], {}) for row in move['nodes']
    ]
