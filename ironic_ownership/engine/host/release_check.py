"""Read instances from Ironic again before free nodes are released.

The nodes of a decision were listed up to minutes ago. One that has an instance
by now stays with its service, which is the only one that may have created it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from ironic_ownership.contracts import inventory, model
from ironic_ownership.contracts.records import Change, Release, Update


def confirm_releases(
    changes: Sequence[Change],
    listed: Iterable[model.Node],
    others: Iterable[model.Node],
    scope: model.Scope,
    source: inventory.Inventory,
) -> list[Change]:
    """Replace releases of nodes that have an instance by updates.

    Costs nothing without a release; otherwise one list of the nodes with an
    instance, and one request for each released node outside of the scope.

    :param listed: nodes in the scope, as listed for the decision.
    :param others: own nodes outside of the scope, as looked up.
    :raises IronicError: if Ironic does not answer; nothing may be released.
    """
    released = {c.uuid for c in changes if isinstance(c, Release)}
    if not released:
        return list(changes)
    found: dict[str, model.Node | None] = {
        node.uuid: source.get(node.uuid)
        for node in others
        if node.uuid in released
    }
    inside = [n for n in listed if n.uuid in released and n.uuid not in found]
    instances = source.instances(scope) if inside else {}
    found |= {
        node.uuid: dataclasses.replace(
            node, instance_uuid=instances.get(node.uuid)
        )
        for node in inside
    }
    return [
        confirmed
        for change in changes
        if (confirmed := _confirmed(change, found)) is not None
    ]


def _confirmed(
    change: Change, found: dict[str, model.Node | None]
) -> Change | None:
    if not isinstance(change, Release):
        return change
    node = found.get(change.uuid)
    if node is None:
        return None  # gone meanwhile: for the next refresh
    return Update(node) if node.instance_uuid else change
