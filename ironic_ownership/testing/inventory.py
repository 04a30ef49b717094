"""An Ironic in memory, and the laws that every inventory has to keep.

The fake is for tests of what uses an inventory. It must not know more than
the contract: whatever it can do, the real client is proven to do by the same
suite, :class:`InventoryContract`, run against a real Ironic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import inventory, model


class FakeInventory(inventory.Inventory):
    """Nodes in a dictionary that tests change as they like.

    :ivar nodes: the nodes by uuid.
    :ivar fail_with: raised by every call while it is set.
    :ivar failures: raised by one method only, by the method's name.
    :ivar calls: (method, argument) of each call, failed ones included.
    """

    def __init__(self, nodes: Iterable[model.Node] = ()) -> None:
        self.nodes: dict[str, model.Node] = {}
        self.fail_with: Exception | None = None
        self.failures: dict[str, Exception] = {}
        self.calls: list[tuple[str, Any]] = []
        self.put(*nodes)

    def put(self, *nodes: model.Node) -> None:
        """Add nodes, or replace those of the same uuid."""
        self.nodes.update((node.uuid, node) for node in nodes)

    def check(self, scope: model.Scope) -> None:
        """Accept every scope."""
        self._called('check', scope)

    def scan(self, scope: model.Scope) -> Sequence[model.Node]:
        """List the nodes in the scope, in the order of their arrival."""
        self._called('scan', scope)
        return [
            node
            for node in self.nodes.values()
            if scope.matches(node.shard, node.conductor_group)
        ]

    def get(self, uuid: str) -> model.Node | None:
        """Look one node up."""
        self._called('get', uuid)
        return self.nodes.get(uuid)

    def shard_counts(self) -> Mapping[str | None, int]:
        """Count the nodes of every shard."""
        self._called('shard_counts', None)
        return dict(Counter(node.shard for node in self.nodes.values()))

    def _called(self, method: str, argument: Any) -> None:
        self.calls.append((method, argument))
        failure = self.failures.get(method, self.fail_with)
        if failure is not None:
            raise failure
