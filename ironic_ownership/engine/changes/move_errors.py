"""Errors of moves that have begun, or cannot begin."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions


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
