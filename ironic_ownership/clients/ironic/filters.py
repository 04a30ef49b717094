"""Query filters for lists of nodes. Pure: sends nothing."""

from __future__ import annotations

from ironic_ownership.contracts import model

_FREE = (
    ('associated', 'false'),
    ('maintenance', 'false'),
    ('provision_state', 'available'),
    ('retired', 'false'),
)


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


def free(resource_class: str | None) -> list[tuple[str, str]]:
    """Return the query for free nodes."""
    if resource_class is None:
        return [*_FREE]
    return [*_FREE, ('resource_class', resource_class)]
