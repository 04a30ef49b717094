"""May a node be acted on now? Asked from outside of the service that owns it.

The service itself asks its guard, which also knows its fence. Here the same
is judged from the records, the members and Ironic, for operators and for
whoever sends requests to a service. Changes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import explanation, node_query


@dataclasses.dataclass(frozen=True)
class Allowed:
    """A node that its owner may act on.

    :param host: the owner.
    """

    uuid: str
    name: str | None
    host: str
    driver: str
    conductor_group: str


def check(
    ports: Ports,
    uuid: str,
    sharded: Callable[[], bool] = lambda: False,
) -> Allowed:
    """Return who may act on a node, if anybody may.

    :param sharded: as for :func:`census.explained`.
    :raises NotFoundError: if Ironic does not have the node.
    :raises NodeOutOfServiceError: if no conductor can work on it.
    :raises NotOwnerError: if nobody owns it.
    :raises FencedError: if its owner is not alive, or may not act.
    :raises WrongScopeError: if it is free and has left its owner's scope.
    :raises OwnershipError: if anything can't be read.
    """
    found = node_query.explained(ports, uuid, sharded)
    if found is None or found.finding.node is None:
        raise exceptions.NotFoundError(f'Ironic does not have the node {uuid}')
    node = found.finding.node
    evaluation.check_in_service(node, _fleet(ports.source))
    host = _owner(found)
    _check_owner(found, host)
    deployed = node.instance_uuid or _recorded_instance(found)
    decision = found.finding.decision
    if decision is not None and decision.filtered and not deployed:
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


def _fleet(source: inventory.Inventory) -> evaluation.Fleet | None:
    known = conductors.ask(source)
    if isinstance(known.error, exceptions.IronicUnavailableError):
        raise known.error
    return known.fleet


def _owner(found: explanation.Explanation) -> str:
    record: model.ComputeNode | None = found.finding.record
    if record is None or record.host is None:
        raise exceptions.NotOwnerError(
            f'nobody owns the node {found.finding.uuid}',
            hint='ironic-ownership compute node explain '
            f'{found.finding.uuid} tells why',
        )
    return record.host


def _recorded_instance(found: explanation.Explanation) -> str | None:
    record = found.finding.record
    return record.instance_uuid if record else None


def _check_owner(found: explanation.Explanation, host: str) -> None:
    row = found.owner
    if row is not None and row.forced_down:
        what = 'is forced down'
    elif row is None or not found.finding.owner_alive:
        what = 'is not alive'
    elif row.fenced:
        what = 'was fenced, and has not registered anew'
    else:
        return
    raise exceptions.FencedError(
        f'{host}, which owns the node {found.finding.uuid}, {what}',
        hint=f'Bring {host} back, or move the node to another service',
    )
