"""Check that this service may act on one node at this moment.

A refresh may be a minute old, so record and Ironic are read again for the
one node before anything is done to it. Ironic may take a minute as well, so
the records are read last: they decide.
"""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host.permission import Permission, Right
from ironic_ownership.engine.membership.service_context import ServiceContext


@dataclasses.dataclass(eq=False)
class Guard:
    """Checks one node at a time for one service.

    Threading: any one thread at a time in parallel with the refresh.

    :param context: with an Ironic client of its own.
    :param longest: seconds for which a permission may last: a heartbeat
        interval, within which the service also learns that it was fenced.
    """

    context: ServiceContext
    policies: policy_set.PolicySet
    _: dataclasses.KW_ONLY
    longest: float

    def __post_init__(self) -> None:
        self._source = self.context.ports.source

    def check(self, uuid: str) -> Permission:
        """Permit to act on a node, if the service may.

        A node with an instance is allowed in any shard and group: it stays
        with its service until an operator moves it.

        Source: ironic-shards, "Proposed change": shard and conductor group
        are checked before anything is done; the look-up is not restricted.

        :returns: the permission, with the node as Ironic has it.
        :raises FencedError: if the service may not act at all: it has lost
            its membership, was fenced, or is forced down; also if it had the
            right to act again, but not all the time since this call.
        :raises NotFoundError: if Ironic does not have the node.
        :raises NotOwnerError: if the node is on record with another service,
            or with none.
        :raises WrongScopeError: if a free node has left the service's scope.
        :raises NodeOutOfServiceError: if no live conductor of the node's
            group has its driver; not checked if Ironic does not show its
            conductors to this service.
        :raises OwnershipError: if records or Ironic do not answer.
        """
        right = Right(self.context, uuid, self.longest)
        right.confirm()  # so that Ironic is not asked in vain
        node = self._source.get(uuid)
        if node is None:
            raise exceptions.NotFoundError(
                f'Ironic does not have the node {uuid}'
            )
        evaluation.check_in_service(node, self._fleet())
        confirmed = right.confirm()
        deployed = node.instance_uuid or confirmed.record.instance_uuid
        if not deployed and not self.policies.admits(node):
            raise self._wrong_scope(node)
        return Permission(node, right, confirmed)

    def _fleet(self) -> evaluation.Fleet | None:
        known = conductors.read(self._source)
        if isinstance(known.error, exceptions.IronicUnavailableError):
            raise known.error
        return known.fleet

    def _wrong_scope(self, node: model.Node) -> exceptions.WrongScopeError:
        return exceptions.WrongScopeError(
            f'the node {node.uuid} has left the scope of {self.context.host}: '
            f'its shard is {node.shard or "none"}, its conductor group '
            f'{node.conductor_group or "the default one"}',
            hint='Set them back in Ironic, or move the node to a service '
            'that admits it',
        )
