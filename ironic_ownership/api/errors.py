"""Errors of the operations, beyond those of the contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import exceptions


class GatesFailedError(exceptions.OwnershipError):
    """A gate refuses what was asked for.

    :param nodes: each node that is refused, with its failed gates.
    """

    code = 'gates_failed'

    def __init__(
        self, message: str, nodes: Sequence[Mapping[str, Any]], *, hint: str
    ) -> None:
        self.nodes = nodes
        super().__init__(message, hint=hint)
