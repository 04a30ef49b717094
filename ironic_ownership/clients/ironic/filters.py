"""How a list of nodes is asked for: its filters, and where a page begins.

Pure: sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ironic_ownership.clients.ironic import nodes
from ironic_ownership.contracts import exceptions, model


def filters(scope: model.Scope) -> list[tuple[str, str]]:
    """Return the query that lets the server filter.

    A shard is named twice: named once, the server splits it at commas and
    puts it in lower case; a repeated one it takes as it is.
    """
    filters = []
    if scope.shard is not None:
        filters += [('shard', scope.shard)] * 2
    if scope.conductor_group is not None:
        filters.append(('conductor_group', scope.conductor_group))
    return filters


_FREE = (
    (0, 'associated', 'false'),
    (0, 'maintenance', 'false'),
    (9, 'provision_state', 'available'),
    (61, 'retired', 'false'),
)
_RESOURCE_CLASS = 21


def free(minor: int, resource_class: str | None) -> list[tuple[str, str]]:
    """Return the query for free nodes, as far as a server can filter them.

    :param minor: minor version that the requests use.
    :param resource_class: exactly as in Ironic; any, if not given.
    """
    filters = [(name, value) for since, name, value in _FREE if since <= minor]
    if resource_class is not None and minor >= _RESOURCE_CLASS:
        filters.append(('resource_class', resource_class))
    return filters


def last_uuid(page: Sequence[Any], before: str | None) -> str:
    """Return the uuid after which the next page begins."""
    for data in reversed(page):
        uuid = data.get('uuid') if isinstance(data, dict) else None
        if nodes.is_uuid(uuid) and uuid != before:
            return str(uuid)
    raise exceptions.IronicError(
        'A page of nodes has no uuid after which the next one could begin'
    )
