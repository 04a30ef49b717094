"""Ironic's reservations in memory, for tests of what uses them.

The fake must not know more than the contract: all that it can do, the real
client is proven to do by the same suite, ``testing.allocations``.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Collection, MutableMapping, Sequence

from ironic_ownership.contracts import exceptions, model, reservations

_FREE = (None, 'available')


class FakeAllocations:
    """Gives out nodes of a dictionary that tests change as they like.

    Several of them on the same dictionaries are several clients of one
    Ironic.

    :ivar nodes: by uuid; a node that is given out gets its instance here.
        Those of a ``FakeBareMetal`` can be taken.
    :ivar made: by uuid of the instance.
    :ivar fail_with: raised by every call while it is set.
    :ivar failures: raised by one method only, by the method's name.
    :ivar calls: (method, uuid of the instance or owner) of each call, failed
        ones included.
    """

    _lock = threading.Lock()

    def __init__(
        self,
        nodes: MutableMapping[str, model.Node] | None = None,
        made: MutableMapping[str, reservations.Allocation] | None = None,
    ) -> None:
        self.nodes = {} if nodes is None else nodes
        self.made = {} if made is None else made
        self.fail_with: Exception | None = None
        self.failures: dict[str, Exception] = {}
        self.calls: list[tuple[str, str]] = []

    def create(
        self,
        instance_uuid: str,
        *,
        resource_class: str,
        candidates: Sequence[str],
        owner: str,
        traits: Collection[str] = (),
    ) -> reservations.Allocation:
        self._called('create', instance_uuid)
        with self._lock:
            found = self._find(instance_uuid)
            if found is not None:
                if found.owner != owner:
                    raise exceptions.AllocationConflictError(
                        f'{instance_uuid} has an allocation of {found.owner}'
                    )
                return found
            for uuid in candidates:
                node = self.nodes.get(uuid)
                if node is not None and _fits(node, resource_class, traits):
                    self._deploy(node, instance_uuid)
                    self.made[instance_uuid] = reservations.Allocation(
                        instance_uuid,
                        reservations.AllocationState.ACTIVE,
                        node_uuid=uuid,
                        owner=owner,
                    )
                    return self.made[instance_uuid]
        return reservations.Allocation(
            instance_uuid,
            reservations.AllocationState.ERROR,
            owner=owner,
            last_error='none of the nodes is free and fits',
        )

    def get(self, instance_uuid: str) -> reservations.Allocation | None:
        self._called('get', instance_uuid)
        return self._find(instance_uuid)

    def delete(self, instance_uuid: str) -> bool:
        self._called('delete', instance_uuid)
        with self._lock:
            found = self._find(instance_uuid)
            if found is None:
                return False
            if found.owner is None:
                raise exceptions.AllocationConflictError(
                    f'another client made the allocation of {instance_uuid}'
                )
            node = self.nodes.get(found.node_uuid or '')
            if node is not None:
                if node.provision_state not in _FREE and not node.maintenance:
                    raise exceptions.AllocationInUseError(
                        f'{node.uuid} is {node.provision_state}'
                    )
                self._deploy(node, None)
            del self.made[instance_uuid]
            return True

    def mine(self, owner: str) -> Sequence[reservations.Allocation]:
        self._called('mine', owner)
        found = (self._find(uuid) for uuid in list(self.made))
        return [one for one in found if one is not None and one.owner == owner]

    def _deploy(self, node: model.Node, instance_uuid: str | None) -> None:
        self.nodes[node.uuid] = dataclasses.replace(
            node, instance_uuid=instance_uuid
        )

    def _find(self, instance_uuid: str) -> reservations.Allocation | None:
        """Return what there is: it goes with the node's instance."""
        found = self.made.get(instance_uuid)
        if found is not None:
            node = self.nodes.get(found.node_uuid or '')
            if node is not None and node.instance_uuid == instance_uuid:
                return found
            del self.made[instance_uuid]
        return None

    def _called(self, method: str, argument: str) -> None:
        self.calls.append((method, argument))
        failure = self.failures.get(method, self.fail_with)
        if failure is not None:
            raise failure


def _fits(
    node: model.Node, resource_class: str, traits: Collection[str]
) -> bool:
    return (
        node.instance_uuid is None
        and node.provision_state in _FREE
        and not node.maintenance
        and node.resource_class == resource_class
        and set(traits) <= set(node.traits)
    )
