"""Check that this service may act on one node at this moment.

A refresh may be a minute old, so record and Ironic are read again for the
one node before anything is done to it.
"""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.membership.service_context import ServiceContext


@dataclasses.dataclass(eq=False)
class Guard:
    """Checks one node at a time for one service.

    Threading: any one thread at a time in parallel with the refresh.

    :param context: with an Ironic client of its own.
    """

    context: ServiceContext
    policies: policy_set.PolicySet

    def __post_init__(self) -> None:
        self._host = self.context.host
        self._records = self.context.ports.records
        self._source = self.context.ports.source

    def check(self, uuid: str) -> model.Node:
        """Return the node if the service may act on it.

        A node with an instance is allowed in any shard and group: it stays
        with its service until an operator moves it.

        Source: ironic-shards, "Proposed change": shard and conductor group
        are checked before anything is done; the look-up is not restricted.

        :raises FencedError: if the service may not act at all: it has lost
            its membership, was fenced, or is forced down.
        :raises NotFoundError: if Ironic does not have the node.
        :raises NotOwnerError: if the node is on record with another service,
            or with none.
        :raises WrongScopeError: if a free node has left the service's scope.
        :raises NodeOutOfServiceError: if no live conductor of the node's
            group has its driver; not checked if Ironic does not show its
            conductors to this service.
        :raises OwnershipError: if records or Ironic do not answer.
        """
        self._check_right()
        record = next(iter(self._records.compute_nodes_by_uuid([uuid])), None)
        if record is None or record.host != self._host:
            raise self._not_owner(uuid, record)
        node = self._source.get(uuid)
        if node is None:
            raise exceptions.NotFoundError(
                f'Ironic does not have the node {uuid}'
            )
        deployed = node.instance_uuid or record.instance_uuid
        if not deployed and not self.policies.admits(node):
            raise self._wrong_scope(node)
        evaluation.check_in_service(node, self._fleet())
        # The right may have ended during these requests.
        self.context.fence.epoch()
        return node

    def _fleet(self) -> evaluation.Fleet | None:
        known = conductors.read(self._source)
        if isinstance(known.error, exceptions.IronicUnavailableError):
            raise known.error
        return known.fleet

    def _check_right(self) -> None:
        epoch = self.context.fence.epoch()
        services = self._records.services()
        row = next((s for s in services if s.host == self._host), None)
        if row is not None and row.forced_down:
            raise exceptions.FencedError(
                f'{self._host} is forced down',
                hint=f'Run "ironic-ownership service set {self._host} --up" '
                'once nothing else acts on its nodes',
            )
        if row is None or row.fenced or row.epoch != epoch:
            raise exceptions.FencedError(
                f'{self._host} was fenced: another service, or another '
                'process of this one, has taken over its right to act',
                hint='It acts again after it has registered again',
            )

    def _not_owner(
        self, uuid: str, record: model.ComputeNode | None
    ) -> exceptions.NotOwnerError:
        owner = record.host if record else None
        if not owner:
            return exceptions.NotOwnerError(
                f'{self._host} does not own the node {uuid}: it is unowned',
                hint='Wait for the next refresh, which may claim it',
            )
        return exceptions.NotOwnerError(
            f'{self._host} does not own the node {uuid}: on record it '
            f'belongs to {owner}',
            hint=f'Ask {owner}, or move the node: ironic-ownership compute '
            f'node move {uuid} --service {self._host}',
        )

    def _wrong_scope(self, node: model.Node) -> exceptions.WrongScopeError:
        return exceptions.WrongScopeError(
            f'the node {node.uuid} has left the scope of {self._host}: its '
            f'shard is {node.shard or "none"}, its conductor group '
            f'{node.conductor_group or "the default one"}',
            hint='Set them back in Ironic, or move the node to a service '
            'that admits it',
        )
