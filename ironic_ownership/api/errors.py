"""Errors of the operations, beyond those of the contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import exceptions

NOTHING: Mapping[str, int] = {}


class GatesFailedError(exceptions.OwnershipError):
    """A gate refuses the operation, and nothing was changed.

    :param nodes: each node that is refused.
    :param gates: the gates of a service, or of all these nodes.
    :param evaluated: the number of nodes by destination, for moves.
    """

    code = 'gates_failed'

    def __init__(
        self,
        message: str,
        nodes: Sequence[Mapping[str, Any]] = (),
        *,
        gates: Sequence[Mapping[str, Any]] = (),
        evaluated: Mapping[str, int] = NOTHING,
        hint: str,
    ) -> None:
        self.nodes = nodes
        self.gates = gates
        self.evaluated = evaluated
        super().__init__(message, hint=hint)
