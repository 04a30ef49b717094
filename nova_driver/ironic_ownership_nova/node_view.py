"""Nodes and resources as Nova reads them, made from the last scan."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from ironic_ownership.embedding import Node


@dataclasses.dataclass(frozen=True, slots=True)
class CachedNode:
    """A node with the names that openstacksdk gives to its fields.

    Nova reads the nodes in its cache, and never sends one to Ironic.
    """

    id: str
    instance_id: str | None
    power_state: str | None
    target_power_state: str | None
    provision_state: str | None
    target_provision_state: str | None
    is_maintenance: bool
    properties: Mapping[str, Any]
    traits: list[str]
    resource_class: str | None

    @classmethod
    def of(cls, node: Node) -> CachedNode:
        """Return the node of a scan."""
        return cls(
            id=node.uuid,
            instance_id=node.instance_uuid,
            power_state=node.power_state,
            target_power_state=node.target_power_state,
            provision_state=node.provision_state,
            target_provision_state=node.target_provision_state,
            is_maintenance=node.maintenance,
            properties=node.properties,
            traits=list(node.traits),
            resource_class=node.resource_class,
        )


_REPORTED = (
    *('id', 'instance_id', 'power_state', 'provision_state'),
    *('is_maintenance', 'properties', 'resource_class'),
)


def digest(node: Any, is_reserved: bool, is_disabled: bool) -> str:
    """Return a digest of all that Nova reports of a node.

    :param node: a :class:`CachedNode`, or a node of openstacksdk.
    :param is_reserved: whether it is not offered to the scheduler.
    :param is_disabled: whether the service is, for which nodes have a trait.
    """
    values: list[Any] = [getattr(node, name) for name in _REPORTED]
    values += is_reserved, is_disabled
    values.append(sorted(node.traits or ()))
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


_NAME = 'hypervisor_hostname'


class ConfirmedResources(dict[str, Any]):
    """Resources of one node, confirmed each time that Nova uses them.

    Nova asks the driver for them first, and takes the lock of its tracker
    later. With the lock it reads the name of the node, before it reads or
    writes a row. Nodes are taken from the tracker under the same lock, so
    nothing can be lost between this confirmation and the row.

    :param resources: as Nova's own driver describes them.
    :param confirm: raises the error that ends the pass for the node.
    """

    def __init__(
        self, resources: Mapping[str, Any], confirm: Callable[[], None]
    ) -> None:
        super().__init__(resources)
        self._confirm = confirm

    def __getitem__(self, key: str) -> Any:
        if key == _NAME:
            self._confirm()
        return super().__getitem__(key)
