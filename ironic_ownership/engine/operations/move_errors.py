"""Errors of the operations that move nodes."""

from __future__ import annotations

from collections.abc import Sequence

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.moves.proposal import PlannedNode, Proposal


class GateRefusalError(exceptions.OwnershipError):
    """A gate refuses nodes of an operation, and nothing was changed.

    :param proposals: the moves with all their nodes.
    :param unplaceable: nodes for which there is no destination.
    """

    code = 'gates_failed'
    http_status, exit_code = 409, 3

    def __init__(
        self,
        proposals: Sequence[Proposal],
        unplaceable: Sequence[PlannedNode] = (),
    ) -> None:
        self.proposals = proposals
        self.unplaceable = unplaceable
        super().__init__('a gate refuses nodes: nothing was moved')


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


class LostMoveError(exceptions.NotFoundError):
    """A move disappeared from the records while it was carried out."""

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f'{request_id} is no longer on record: the database lost commits, '
            'by a promotion or a restore',
            hint='Nothing can be resumed. Run "compute node move" again with '
            'the same nodes: those that its destination owns stay unchanged',
        )
