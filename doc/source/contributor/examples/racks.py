"""An assigner that gives all nodes of one rack to one service."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ironic_ownership import contracts


class RackPolicy(contracts.AssignerPolicy):
    """Spreads racks, not nodes; a node without a rack is one of its own."""

    contract_version = 1
    rebalancing = True
    # Racks of a service that leaves move; those of the others stay.
    extra_movement = 0.0
    # Other nodes are not looked at, so one node can be explained alone.
    node_by_node = True

    def assign(
        self, nodes: Sequence[contracts.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        """Choose an owner for each node."""
        owners: dict[str, str] = {}
        chosen = []
        for node in nodes:
            rack = _rack(node)
            if rack not in owners:
                owners[rack] = max(hosts, key=lambda h: (_weight(h, rack), h))
            chosen.append(owners[rack])
        return chosen


def _rack(node: contracts.Node) -> str:
    rack = node.properties.get('rack')
    return f'rack {rack}' if isinstance(rack, str) else node.uuid


def _weight(host: str, rack: str) -> bytes:
    # hash() of Python differs from process to process.
    return hashlib.sha256(f'{host} {rack}'.encode()).digest()
