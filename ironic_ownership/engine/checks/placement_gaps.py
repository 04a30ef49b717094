"""Gaps between the nodes and Placement, by owner. Pure."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Set

from ironic_ownership.contracts import model
from ironic_ownership.engine.placement import inventory_diff

Uuids = Mapping[str, Sequence[str]]
"""Uuids of nodes, by their owner."""


@dataclasses.dataclass(frozen=True)
class PlacementGaps:
    """Nodes that are not in Placement as they should be.

    :param behind: Placement has not accepted their latest state.
    :param without_class: they cannot be reported.
    """

    behind: Uuids
    without_class: Uuids


def find(
    nodes: Iterable[model.Node],
    records: Mapping[str, model.ComputeNode],
    hosts: Set[str],
) -> PlacementGaps:
    """Find the gaps of the nodes that some services own.

    :param nodes: of which one is in use at a time.
    """
    behind: dict[str, list[str]] = collections.defaultdict(list)
    without_class: dict[str, list[str]] = collections.defaultdict(list)
    for node in nodes:
        record = records.get(node.uuid)
        if record is None or record.host is None or record.host not in hosts:
            continue
        diff = inventory_diff.compare([node], {node.uuid: record})
        if diff.steps:
            behind[record.host].append(node.uuid)
        if diff.without_class:
            without_class[record.host].append(node.uuid)
    return PlacementGaps(behind, without_class)
