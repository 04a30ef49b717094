"""Errors of requests that are refused or fail before their end; exit codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import exceptions


class NoMatchError(exceptions.OwnershipError):
    """No free node fits a request.

    :param nodes: number of nodes that were checked.
    :param removed: number of nodes that each condition removed, in order.
    """

    code, http_status, exit_code = 'no_match', 409, 3
    detail_names = ('nodes', 'removed')

    def __init__(self, nodes: int, removed: Mapping[str, int]) -> None:
        self.nodes = nodes
        self.removed = dict(removed)
        counts = ', '.join(f'{name} {n}' for name, n in self.removed.items())
        super().__init__(
            f'no free node fits: of {nodes} nodes, these were removed by each '
            f'condition: {counts or "none"}',
            hint='Request less, or free a node; "ironic-ownership compute '
            'node list" shows why nodes are unavailable',
        )


class GatesFailedError(exceptions.OwnershipError):
    """A gate refuses the operation, and nothing was changed.

    :param nodes: each node that is refused.
    :param gates: the gates of a service, or of all these nodes.
    :param evaluated: the number of nodes by destination, for moves.
    """

    code = 'gates_failed'
    http_status, exit_code = 409, 3
    detail_names = ('nodes', 'gates', 'evaluated')

    def __init__(
        self,
        message: str,
        nodes: Sequence[Mapping[str, Any]] = (),
        *,
        gates: Sequence[Mapping[str, Any]] = (),
        evaluated: Mapping[str, int] | None = None,
        hint: str,
    ) -> None:
        self.nodes = nodes
        self.gates = gates
        self.evaluated = evaluated or {}
        super().__init__(message, hint=hint)


class ScenarioError(exceptions.OwnershipError):
    """The situation that a preview or a comparison assumes cannot exist."""

    code = 'impossible_scenario'
    http_status = 409


def exit_code_of(code: str) -> int:
    """Return the exit code for the reason code of an error elsewhere."""
    kinds = [exceptions.OwnershipError]
    for kind in kinds:
        if kind.code == code:
            return kind.exit_code
        kinds += kind.__subclasses__()
    return exceptions.OwnershipError.exit_code


class UnfinishedMoveError(exceptions.OwnershipError):
    """A stored move has failed before its end; it can be resumed.

    :ivar code: that of its cause.
    """

    def __init__(
        self, request_id: str, cause: exceptions.OwnershipError
    ) -> None:
        self.code = cause.code
        self.http_status, self.exit_code = cause.http_status, cause.exit_code
        super().__init__(
            f'{request_id}: {cause.args[0]}',
            hint='The move is unfinished: "ironic-ownership move resume '
            f'{request_id}" resumes it',
        )


class EmptySelectionError(exceptions.NotFoundError):
    """No node is selected for a move."""

    def __init__(self) -> None:
        super().__init__(
            'the selection is empty: it names no compute node on record',
            hint='"compute node list" shows the nodes of each service',
        )


AGAIN = (
    'run "compute node move" again with the same nodes: those that its '
    'destination owns stay unchanged'
)


class LostMoveError(exceptions.NotFoundError):
    """A move disappeared from the records while it was carried out."""

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f'{request_id} is no longer on record: the database lost commits, '
            'by a promotion or a restore',
            hint=f'Nothing can be resumed. {AGAIN.capitalize()}',
        )


class DecidedTrialError(exceptions.OwnershipError):
    """Another process has evaluated the trial of a move first."""

    code, http_status, exit_code = 'trial_decided', 409, 3

    def __init__(self, request_id: str, outcome: str) -> None:
        super().__init__(
            f'{request_id}: another process evaluated its trial first: it '
            f'{outcome}',
            hint=f'"ironic-ownership move show {request_id}" shows what that '
            'process does; if it stops, "ironic-ownership move resume '
            f'{request_id}" goes on',
        )
