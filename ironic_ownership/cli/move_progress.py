"""Progress of moves that the HTTP service carries out in the background."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.api.operation_client import OperationClient
from ironic_ownership.cli import errors
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import NodeState
from ironic_ownership.engine.gates import Progress, Stopping

INTERVAL = 1.0
"""Seconds between two lines of progress, and between two polls."""

STALL_TIME = 120.0
"""Seconds without progress until a move in the background has failed, unless
the HTTP service works on it."""

TRIAL_TIME = 3600.0
"""The same for a trial, which waits for refreshes of its new owner."""


def wait(
    api: OperationClient,
    moves: Sequence[dict[str, Any]],
    progress: Progress,
    stopping: Stopping,
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
    while (remaining or runs) and not stopping():
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
        # A batch waits for the end of permissions, a third of member_ttl.
        if runs or now != remaining:
            changed_at = time.monotonic()
        if now != remaining:
            remaining = now
            progress(total - remaining, total)
        elif time.monotonic() - changed_at > patience:
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


def refresh(api: OperationClient, move: dict[str, Any]) -> None:
    """Give the nodes of a move their results."""
    path = {'request_id': move['request_id']}
    stored = api.call('move:show', path=path)['nodes']
    by_uuid = {node['uuid']: node for node in stored}
    move['nodes'] = [
        row | by_uuid.get(row['uuid'], {}) for row in move['nodes']
    ]
