"""Ironic in memory, for tests of what uses an inventory.

It knows no more than the contract: the suite that it passes is also run with
the real client and a real Ironic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.contracts.inventory import Inventory


class FakeInventory(Inventory):
    """Nodes in a dictionary that tests change as they like.

    :ivar nodes: the nodes by uuid.
    :ivar workers: the conductors; ``None``, as it begins, for one in each
        conductor group that has the drivers of all nodes there.
    :ivar fail_with: raised by every call while it is set.
    :ivar failures: raised by one method only, by the method's name.
    :ivar calls: (method, argument) of each call, failed ones included.
    """

    def __init__(self, nodes: Iterable[model.Node] = ()) -> None:
        self.nodes: dict[str, model.Node] = {}
        self.workers: list[model.Conductor] | None = None
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

    def instances(self, scope: model.Scope) -> Mapping[str, str]:
        """List the nodes in the scope that have an instance."""
        self._called('instances', scope)
        return {
            node.uuid: node.instance_uuid
            for node in self.nodes.values()
            if node.instance_uuid
            and scope.matches(node.shard, node.conductor_group)
        }

    def count(self, scope: model.Scope) -> int:
        """Count the nodes in the scope."""
        self._called('count', scope)
        return sum(
            scope.matches(node.shard, node.conductor_group)
            for node in self.nodes.values()
        )

    def get(self, uuid: str) -> model.Node | None:
        """Look one node up."""
        self._called('get', uuid)
        return self.nodes.get(uuid)

    def shard_counts(self) -> Mapping[str | None, int]:
        """Count the nodes of every shard."""
        self._called('shard_counts', None)
        return dict(Counter(node.shard for node in self.nodes.values()))

    def conductors(self) -> Sequence[model.Conductor]:
        """List the conductors."""
        self._called('conductors', None)
        if self.workers is not None:
            return list(self.workers)
        drivers: dict[str, set[str]] = {'': set()}
        for node in self.nodes.values():
            drivers.setdefault(node.conductor_group, set()).add(node.driver)
        return [
            model.Conductor(f'conductor-{group}', group, frozenset(some))
            for group, some in drivers.items()
        ]

    def _called(self, method: str, argument: Any) -> None:
        self.calls.append((method, argument))
        failure = self.failures.get(method, self.fail_with)
        if failure is not None:
            raise failure
