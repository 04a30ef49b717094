"""All operations of the HTTP service, in the order of its documentation."""

from __future__ import annotations

from collections.abc import Sequence

from ironic_ownership.api import operation
from ironic_ownership.api.resources import (
    check,
    compute_nodes,
    members,
    moves,
    reservations,
    services,
)
from ironic_ownership.web import metrics, root

OPERATIONS: Sequence[operation.Operation] = (
    *compute_nodes.OPERATIONS,
    *services.OPERATIONS,
    *members.OPERATIONS,
    *moves.OPERATIONS,
    *reservations.OPERATIONS,
    *check.OPERATIONS,
    *root.OPERATIONS,
    *metrics.OPERATIONS,
)
