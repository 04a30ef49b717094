"""Rows of the event log."""

from __future__ import annotations

from typing import Any

from ironic_ownership.contracts.events import EventKind

_COLUMNS = (
    'node_uuid',
    'from_host',
    'to_host',
    'instance_uuid',
    'reason',
    'request_id',
)
_LONGEST_REASON = 255


def row(
    at: float, actor: str, kind: EventKind, **values: str | None
) -> dict[str, Any]:
    """Return a row of ``events``; ``at`` is the database's clock.

    :param values: columns; a reason that is too long is cut.
    """
    found = {name: values.get(name) for name in _COLUMNS}
    reason = found['reason']
    return {
        'at': at,
        'actor': actor,
        'kind': kind.value,
        **found,
        'reason': reason and reason[:_LONGEST_REASON],
    }
