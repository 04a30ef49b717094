"""An Ironic in memory, which passes the contract suite of the real one."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.bare_metal import (
    NO_NODES,
    SUMMARY,
    ChangedNode,
    Enforcement,
    LatestChanges,
    same,
)


def free_of(
    nodes: Iterable[model.Node], resource_class: str | None
) -> list[model.Node]:
    """Return those that are available and have no instance."""
    return [
        node
        for node in nodes
        if node.instance_uuid is None
        and node.provision_state in (None, 'available')
        and not node.maintenance
        and resource_class in (None, node.resource_class)
    ]


class FakeBareMetal:
    """Nodes in a dictionary that tests change as they like.

    :param clock: time of the server; without it, this Ironic does not tell
        which nodes changed last.
    :ivar nodes: the nodes by uuid.
    :ivar workers: the conductors; ``None``, as it begins, for one in each
        conductor group that has the drivers of all nodes there.
    :ivar fail_with: raised by every call while it is set.
    :ivar failures: raised by one method only, by the method's name.
    :ivar calls: (method, argument) of each call, failed ones included.
    :ivar middleware: state of the middleware.
    :ivar changed_at: time of the last change of a node, if it ever changed.
    """

    outage_counts = True

    def __init__(
        self,
        nodes: Iterable[model.Node] = (),
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.clock = clock
        self.changed_at: dict[str, float] = {}
        self.nodes: dict[str, model.Node] = {}
        self.workers: list[model.Conductor] | None = None
        self.fail_with: Exception | None = None
        self.failures: dict[str, Exception] = {}
        self.calls: list[tuple[str, Any]] = []
        self.middleware = Enforcement.ABSENT
        self.put(*nodes)

    def enforcement(self, shared_key: str) -> Enforcement:
        return self.middleware

    def put(self, *nodes: model.Node) -> None:
        """Add nodes, or replace those of the same uuid."""
        for node in nodes:
            if self.clock and self.nodes.get(node.uuid, node) != node:
                self.changed_at[node.uuid] = self.clock()
        self.nodes.update((node.uuid, node) for node in nodes)

    def set_shard(self, uuid: str, shard: str) -> str | None:
        self._called('set_shard', (uuid, shard))
        node = self.nodes.get(uuid)
        if node is None:
            return 'node_exists: Ironic answers 404 for its uuid'
        if node.reservation:
            return f'no_operation_in_progress: {node.reservation} has it'
        self.put(dataclasses.replace(node, shard=shard))
        return None

    def check(self) -> None:
        self._called('check', None)

    def scan(
        self, scope: model.Scope, *, summary: bool = False
    ) -> Sequence[model.Node]:
        self._called('scan', scope)
        found = self._within(scope)
        return [_summary(node) for node in found] if summary else found

    def fleet(
        self, scope: model.Scope, known: Mapping[str, model.Node] = NO_NODES
    ) -> dict[str, model.Node]:
        return {node.uuid: same(node, known) for node in self.scan(scope)}

    def free(
        self,
        scope: model.Scope,
        *,
        resource_class: str | None = None,
        enough: int | None = None,
    ) -> Sequence[model.Node]:
        return free_of(self.scan(scope), resource_class)[:enough]

    def latest_changes(
        self, scope: model.Scope, limit: int
    ) -> LatestChanges | None:
        self._called('latest_changes', (scope, limit))
        if self.clock is None or scope.nothing:
            return None
        rows = [
            ChangedNode(node, self.changed_at.get(node.uuid))
            for node in self._within(scope)
        ]
        rows.sort(key=lambda row: row.updated_at or 0.0, reverse=True)
        return LatestChanges(rows[:limit], self.clock(), len(rows) < limit)

    def changed_after(
        self, scope: model.Scope, uuid: str, most: int
    ) -> Sequence[ChangedNode] | None:
        self._called('changed_after', (scope, uuid))
        if uuid not in self.nodes:
            raise exceptions.IronicError(f'{uuid} was deleted')
        found = [
            ChangedNode(node, time)
            for node in self._within(scope)
            if (time := self.changed_at.get(node.uuid)) is not None
            and time > self.changed_at[uuid]
        ]
        found.sort(key=lambda row: row.updated_at or 0.0)
        return found if len(found) <= most else None

    def newest(self, scope: model.Scope, limit: int) -> Sequence[model.Node]:
        self._called('newest', (scope, limit))
        return self._within(scope)[::-1][:limit]

    def instances(self, scope: model.Scope) -> Mapping[str, str]:
        self._called('instances', scope)
        return {
            node.uuid: node.instance_uuid
            for node in self._within(scope)
            if node.instance_uuid
        }

    def count(self, scope: model.Scope) -> int:
        self._called('count', scope)
        return len(self._within(scope))

    def get(self, uuid: str) -> model.Node | None:
        self._called('get', uuid)
        return self.nodes.get(uuid)

    def node_of_instance(self, instance_uuid: str) -> str | None:
        self._called('node_of_instance', instance_uuid)
        return self._first(lambda node: node.instance_uuid == instance_uuid)

    def node_named(self, name: str) -> str | None:
        self._called('node_named', name)
        return self._first(lambda node: node.name == name)

    def _first(self, fits: Callable[[model.Node], bool]) -> str | None:
        return next(
            (node.uuid for node in self.nodes.values() if fits(node)), None
        )

    def shard_counts(self) -> Mapping[str | None, int]:
        self._called('shard_counts', None)
        return dict(Counter(node.shard for node in self.nodes.values()))

    def conductors(self) -> Sequence[model.Conductor]:
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

    def _within(self, scope: model.Scope) -> list[model.Node]:
        return [
            node
            for node in self.nodes.values()
            if scope.matches(node.shard, node.conductor_group)
        ]

    def _called(self, method: str, argument: Any) -> None:
        self.calls.append((method, argument))
        failure = self.failures.get(method, self.fail_with)
        if failure is not None:
            raise failure


def _summary(node: model.Node) -> model.Node:
    return model.Node(**{name: getattr(node, name) for name in SUMMARY})
