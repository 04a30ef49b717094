"""Stand-ins for what surrounds the driver; Nova's own classes are real."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from typing import Any

from nova import objects

from ironic_ownership.embedding import (
    FeedChanges,
    Node,
    NodeView,
    PlaceState,
    exceptions,
)

UUIDS = [f'00000000-0000-0000-0000-{number:012}' for number in range(1, 9)]
FREE, OTHER = UUIDS[:2]


def row(
    uuid: str = FREE, host: str = 'host1', **more: Any
) -> objects.ComputeNode:
    """Return the row of a node in the cell."""
    return objects.ComputeNode(
        uuid=uuid, host=host, hypervisor_hostname=uuid, **more
    )


def view(
    uuid: str = FREE,
    epoch: int = 1,
    unavailable: str | None = None,
    **fields: Any,
) -> NodeView:
    values = {
        'power_state': 'power off',
        'provision_state': 'available',
        'resource_class': 'gold',
        'properties': {
            'cpus': 4,
            'memory_mb': 1024,
            'local_gb': 10,
            'cpu_arch': 'x86_64',
        },
        **fields,
    }
    return NodeView(Node(uuid, **values), epoch, unavailable)


class Permission:
    """A permission that counts how often it is confirmed."""

    def __init__(self) -> None:
        self.is_valid = True
        self.confirmed = 0
        self.refusal: Exception | None = None
        self.epoch = 7

    def headers(self, method: str, url: str) -> dict[str, str]:
        return {'X-Ironic-Ownership': f'{self.epoch} {method}'}

    def confirm(self) -> None:
        self.confirmed += 1
        if self.refusal:
            raise self.refusal


class Guard:
    """Permits everything, or raises what it is given."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.refusal: exceptions.OwnershipError | None = None
        self.permission = Permission()

    def __call__(
        self, node_uuid: str, *, instance_uuid: str | None
    ) -> Permission:
        self.asked.append((node_uuid, instance_uuid))
        if self.refusal:
            raise self.refusal
        return self.permission


class Feed:
    """A feed that a test fills."""

    def __init__(self, *views: NodeView) -> None:
        self.views = {found.node.uuid: found for found in views}
        self.is_complete = True
        self.generation = 1

    def owned(self) -> dict[str, NodeView]:
        return dict(self.views)

    def wait(self, generation: int, timeout: float) -> bool:
        time.sleep(0.01)
        return False

    def changes_since(self, generation: int) -> FeedChanges:
        is_unknown = generation < 0
        gained = self.views if is_unknown else {}
        return FeedChanges(1, gained=gained, reset=is_unknown)

    def wait_until_complete(self, timeout: float) -> bool:
        return self.is_complete


class Host:
    """An embedded host whose states a test sets."""

    def __init__(self, on_lost_place: Callable[[Any], None]) -> None:
        self.on_lost_place = on_lost_place
        self.name = 'host1'
        self.feed = Feed()
        self.state = PlaceState.ACTIVE
        self.calls: list[str] = []
        self.active_after, self.predecessor = 0, 7

    def start(self) -> None:
        self.calls.append('start')

    def stop(self) -> None:
        self.calls.append('stop')

    def refresh(self) -> None:
        self.calls.append('refresh')

    def wait_until_active(self, timeout: float) -> bool:
        self.calls.append('wait')
        return self.calls.count('wait') > self.active_after

    def guard(
        self, node_uuid: str, patience: float, *, instance_uuid: str | None
    ) -> Permission:
        self.calls.append(f'guard {node_uuid} {patience} {instance_uuid}')
        return Permission()


def instance(**fields: Any) -> Any:
    """Return an instance, as far as the wrapper of operations reads it."""
    return types.SimpleNamespace(
        **{'uuid': 'instance-1', 'node': FREE, **fields}
    )
