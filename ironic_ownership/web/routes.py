"""All operations of the HTTP service, in the order of its documentation."""

from __future__ import annotations

from collections.abc import Sequence

from ironic_ownership.api import operation, resources
from ironic_ownership.web import metrics, root

OPERATIONS: Sequence[operation.Operation] = (
    *resources.operations(),
    *root.OPERATIONS,
    *metrics.OPERATIONS,
)
