"""Query filters for lists of nodes. Pure: sends nothing."""

from __future__ import annotations

from ironic_ownership.contracts import model

_FREE = (
    (0, 'associated', 'false'),
    (0, 'maintenance', 'false'),
    (9, 'provision_state', 'available'),
    (61, 'retired', 'false'),
)
_RESOURCE_CLASS = 21


def in_scope(scope: model.Scope) -> list[tuple[str, str]]:
    """Return the query for the nodes in a scope.

    A shard is named twice: named once, the server splits it at commas and
    puts it in lower case; a repeated one it takes as it is.
    """
    filters = []
    if scope.shard is not None:
        filters += [('shard', scope.shard)] * 2
    if scope.conductor_group is not None:
        filters.append(('conductor_group', scope.conductor_group))
    return filters


def free(minor: int, resource_class: str | None) -> list[tuple[str, str]]:
    """Return the query for free nodes, as far as the server can filter."""
    filters = [(name, value) for since, name, value in _FREE if since <= minor]
    if resource_class is not None and minor >= _RESOURCE_CLASS:
        filters.append(('resource_class', resource_class))
    return filters
