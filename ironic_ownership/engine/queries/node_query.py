"""Queries for single compute nodes, by uuid or by name.

Read-only. A node is always asked for by its uuid, without any filter, because
it may have left the scope of its owner.
"""

from __future__ import annotations

from collections.abc import Callable

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import availability, suggestions
from ironic_ownership.engine.ports import Ports, Records
from ironic_ownership.engine.queries import explanation
from ironic_ownership.engine.queries.deployment import NodeStatus


def check_action(
    ports: Ports,
    uuid: str,
    sharded: Callable[[], bool] = lambda: False,
    *,
    instance: str | None = None,
    own_scope_only: bool = False,
) -> NodeStatus:
    """Return a node with its owner, if that may act on it now.

    The owner itself uses its guard, which also knows its fence. This is for
    operators, and for clients that send requests to a service.

    :param instance: uuid of the instance that has to be on it, if any.
    :param own_scope_only: refuse deployed nodes outside of the scope, too.
    :raises NotFoundError: if Ironic does not have the node.
    :raises OtherInstanceError: if Ironic has not that instance on it.
    :raises NodeOutOfServiceError: if no conductor can work on it.
    :raises NotOwnerError: if no service owns it.
    :raises FencedError: if its owner is not alive, or may not act.
    :raises WrongScopeError: if it has left its owner's scope, and is free or
        ``own_scope_only``.
    :raises OwnershipError: if anything can't be read.
    """
    found = explanation.explain_node(ports, uuid, sharded)
    if found is None or found.status.node is None:
        raise exceptions.NotFoundError(f'Ironic does not have the node {uuid}')
    status, node = found.status, found.status.node
    if instance and instance != (node.instance_uuid or '').lower():
        raise exceptions.OtherInstanceError(uuid, instance, node.instance_uuid)
    availability.check_in_service(
        node, availability.required_conductors(ports.ironic)
    )
    host = status.owner
    if host is None:
        raise exceptions.NotOwnerError(
            f'no service owns the node {uuid}',
            hint='To see why: ironic-ownership compute node explain '
            f'{status.uuid}',
        )
    _check_owner(found, host)
    recorded = status.record.instance_uuid if status.record else None
    bound = own_scope_only or not (node.instance_uuid or recorded)
    if status.decision.filtered and bound:
        raise exceptions.WrongScopeError(
            f'the node {uuid} has left the scope of {host}: its shard is '
            f'{node.shard or "none"}, its conductor group '
            f'{node.conductor_group or "the default one"}',
            hint='Set them back in Ironic, or move the node to a service '
            'that admits it',
        )
    return status


def _check_owner(found: explanation.Explanation, host: str) -> None:
    row = found.owner
    if row is not None and row.forced_down:
        state = 'is forced down'
    elif row is None or not found.status.owner_alive:
        away = row is not None and row.away
        state = explanation.AWAY if away else 'is not alive'
    elif row.fenced:
        state = 'was fenced, and has not registered again'
    else:
        return
    raise exceptions.FencedError(
        f'{host}, which owns the node {found.status.uuid}, {state}',
        hint=f'Bring {host} back, or move the node to another service',
    )


def find(ports: Ports, name: str) -> str:
    """Return the uuid of a node by its name, in any place.

    A recorded name counts only if no node in Ironic has it.

    :raises NotFoundError: if no node has the name; naming similar ones.
    :raises RequestError: if several nodes on record have the name.
    """
    found = ports.ironic.node_named(name)
    return recorded(ports.records, name) if found is None else found


def recorded(records: Records, name: str) -> str:
    """Find a node by its name on record; otherwise as :func:`find`."""
    found = [r for r in records.compute_nodes() if r.name]
    named = [record.uuid for record in found if record.name == name]
    if len(named) > 1:
        raise exceptions.RequestError(
            [f'{len(named)} nodes on record have the name {name!r}'],
            hint='Use the uuid',
        )
    if not named:
        known = {str(record.name) for record in found}
        raise suggestions.unknown('node', name, known)
    return named[0]
