"""May this service act on a node, right now? Asked before anything is done.

What a refresh decided may be a minute old; here the record and Ironic are
asked again about the one node.
"""

from __future__ import annotations

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.membership.fence import Fence


class Guard:
    """Checks one node at a time for one service.

    Threading: any one thread at a time besides the refresh, with an
    inventory of its own.

    :ivar policies: the service's policies as they are now.
    """

    def __init__(
        self,
        host: str,
        policies: policy_set.PolicySet,
        fence: Fence,
        records: Records,
        source: inventory.Inventory,
    ) -> None:
        self._host = host
        self._fence = fence
        self._records = records
        self._source = source
        self.policies = policies

    def check(self, uuid: str) -> model.Node:
        """Return the node if the service may act on it.

        A node with an instance may be acted on in any shard and group: it
        stays with its service until an operator moves it.

        Source: ironic-shards, "Proposed change": shard and conductor group
        are checked before anything is done; the look-up is not restricted.

        :param uuid: of the node.
        :raises FencedError: if the service may not act at all: it has lost
            its membership, was fenced, or is forced down.
        :raises NotFoundError: if Ironic does not have the node.
        :raises NotOwnerError: if the records name another service, or none.
        :raises WrongScopeError: if a free node has left the service's scope.
        :raises NodeOutOfServiceError: if no live conductor of the node's
            group has its driver; not judged if Ironic does not show its
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
        # Asking took time, in which the right may have ended.
        self._fence.epoch()
        return node

    def _fleet(self) -> evaluation.Fleet | None:
        known = conductors.ask(self._source)
        if isinstance(known.error, exceptions.IronicUnavailableError):
            raise known.error
        return known.fleet

    def _check_right(self) -> None:
        epoch = self._fence.epoch()
        services = self._records.services()
        row = next((s for s in services if s.host == self._host), None)
        if row is not None and row.forced_down:
            raise exceptions.FencedError(
                f'{self._host} is forced down',
                hint=f'ironic-ownership service set {self._host} --up takes '
                'that back, once nothing else acts on its nodes',
            )
        if row is None or row.fenced or row.epoch != epoch:
            raise exceptions.FencedError(
                f'{self._host} was fenced: another service, or its own '
                'successor, has taken its right to act',
                hint='It acts again once it has registered anew',
            )

    def _not_owner(
        self, uuid: str, record: model.ComputeNode | None
    ) -> exceptions.NotOwnerError:
        owner = record.host if record and record.host else None
        return exceptions.NotOwnerError(
            f'{self._host} does not own the node {uuid}: on record it '
            f'belongs to {owner or "nobody"}',
            hint=(
                f'Ask {owner}, or move the node: ironic-ownership compute '
                f'node move {uuid} --service {self._host}'
                if owner
                else 'Wait for the next refresh, which may claim it'
            ),
        )

    def _wrong_scope(self, node: model.Node) -> exceptions.WrongScopeError:
        return exceptions.WrongScopeError(
            f'the node {node.uuid} has left the scope of {self._host}: its '
            f'shard is {node.shard or "none"}, its conductor group '
            f'{node.conductor_group or "the default one"}',
            hint='Set them back in Ironic, or move the node to a service '
            'that admits it',
        )
