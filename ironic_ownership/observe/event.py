"""Cells of one event of the history."""

from __future__ import annotations

from ironic_ownership.contracts import model
from ironic_ownership.observe import columns


def cell(event: model.Event) -> dict[str, columns.Cell]:
    """Return an event as a dictionary without empty values."""
    row = {
        'at': columns.moment(event.at),
        'actor': event.actor,
        'kind': event.kind,
        'from_host': event.from_host,
        'to_host': event.to_host,
        'instance_uuid': event.instance_uuid,
        'reason': event.reason,
    }
    return {key: value for key, value in row.items() if value is not None}
