"""The nodes that changed last, and those that were created last.

One page each, never with a marker. ``updated_at`` comes with the detailed list
only.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from typing import Any

from ironic_ownership.clients.ironic.api import IronicAPI
from ironic_ownership.clients.ironic.nodes import (
    NodeReader,
    in_scope,
    names,
    query,
)
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.bare_metal import ChangedNode, LatestChanges


def read(
    api: IronicAPI, scope: model.Scope, limit: int, on_request: Collection[str]
) -> LatestChanges | None:
    """Read the nodes that changed last.

    :param on_request: further fields, as those of a scan.
    :returns: ``None`` if the server does not tell its time.
    :raises IronicError: if Ironic refuses, or if the answer is odd.
    """
    body, read_at = api.get_dated(
        '/nodes/detail',
        [
            # One page without a marker: while nodes change, a second page
            # lacks those that moved to the first.
            ('limit', str(limit)),
            ('sort_key', 'updated_at'),
            ('sort_dir', 'desc'),
            *in_scope(scope),
        ],
    )
    if read_at is None:
        return None
    known = names(api.minor, on_request)
    reader = NodeReader(on_request)
    rows = _rows(body)
    changed = []
    for data in rows:
        node = reader.read({name: data.get(name) for name in known})
        if node is not None:
            changed.append(ChangedNode(node, _time(data.get('updated_at'))))
    return LatestChanges(
        changed, read_at, 'next' not in body and len(rows) < limit
    )


def newest(
    api: IronicAPI, scope: model.Scope, limit: int, on_request: Collection[str]
) -> Sequence[model.Node]:
    """Read the nodes that were created last, the newest first.

    Their order is that of the ids in the database of Ironic, the default.

    :raises IronicError: if Ironic refuses, or if the answer is odd.
    """
    body = api.get(
        '/nodes',
        [
            ('limit', str(limit)),
            ('sort_dir', 'desc'),
            query(api.minor, on_request),
            *in_scope(scope),
        ],
    )
    reader = NodeReader(on_request)
    read_all = (reader.read(data) for data in _rows(body))
    return [node for node in read_all if node is not None]


def _rows(body: dict[str, Any]) -> Sequence[dict[str, Any]]:
    rows = body.get('nodes')
    if not isinstance(rows, list) or not all(
        isinstance(data, dict) for data in rows
    ):
        raise exceptions.IronicError("Ironic's answer is not a list of nodes")
    return rows


def _time(text: object) -> float | None:
    if text is None:
        return None
    try:
        read_time = datetime.datetime.fromisoformat(str(text))
    except ValueError as exc:
        raise exceptions.IronicError(
            f'The answer of Ironic has an odd time of a change: {text!r:.60}'
        ) from exc
    if read_time.tzinfo is None:
        read_time = read_time.replace(tzinfo=datetime.UTC)
    return read_time.timestamp()
