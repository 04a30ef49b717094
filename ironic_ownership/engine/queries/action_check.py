"""Check whether the owner of a node may act on it, from outside of the owner.

The owner itself uses its guard, which also knows its fence. This check
evaluates the records, the members and Ironic, for operators and for clients
that send requests to a service. Read-only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import explanation, node_query


@dataclasses.dataclass(frozen=True)
class Allowed:
    """A node that its owner, ``host``, may act on."""

    uuid: str
    name: str | None
    host: str
    driver: str
    conductor_group: str


def check(
    ports: Ports,
    uuid: str,
    sharded: Callable[[], bool] = lambda: False,
    *,
    own_scope_only: bool = False,
) -> Allowed:
    """Return the owner of a node, if it may act on it now.

    :param own_scope_only: refuse deployed nodes outside of the scope, too.
    :raises NotFoundError: if Ironic does not have the node.
    :raises NodeOutOfServiceError: if no conductor can work on it.
    :raises NotOwnerError: if no service owns it.
    :raises FencedError: if its owner is not alive, or may not act.
    :raises WrongScopeError: if it has left its owner's scope, and is free or
        ``own_scope_only``.
    :raises OwnershipError: if anything can't be read.
    """
    found = node_query.explain(ports, uuid, sharded)
    if found is None or found.status.node is None:
        raise exceptions.NotFoundError(f'Ironic does not have the node {uuid}')
    status, node = found.status, found.status.node
    evaluation.check_in_service(node, conductors.required(ports.source))
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
    return Allowed(
        node.uuid, node.name, host, node.driver, node.conductor_group
    )


def _check_owner(found: explanation.Explanation, host: str) -> None:
    row = found.owner
    if row is not None and row.forced_down:
        state = 'is forced down'
    elif row is None or not found.status.owner_alive:
        state = 'is not alive'
    elif row.fenced:
        state = 'was fenced, and has not registered again'
    else:
        return
    raise exceptions.FencedError(
        f'{host}, which owns the node {found.status.uuid}, {state}',
        hint=f'Bring {host} back, or move the node to another service',
    )
