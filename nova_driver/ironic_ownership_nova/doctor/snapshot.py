"""The cell, Ironic and Placement at one moment."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership_nova.cell.model import (
    CellInstance,
    CellNode,
    CellSnapshot,
)

Key = tuple[str | None, str]
"""The shard and the conductor group of a node: what services select by."""


def key_of(node: model.Node) -> Key:
    """Return the shard and the conductor group of a node."""
    return node.shard, node.conductor_group


def named(key: Key) -> str:
    """Return a shard and a conductor group for people."""
    shard, group = key
    parts = []
    if shard:
        parts.append(f'shard {shard}')
    if group:
        parts.append(f'conductor group {group}')
    return ' and '.join(parts) or 'no shard and no conductor group'


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """All that the findings depend on.

    :param cell: of all cells that were read.
    :param nodes: of Ironic, by uuid; ``None`` if Ironic was not read.
    :param providers: names by uuid, of Placement; ``None`` if not read.
    :param changing: nodes whose rows or instances changed meanwhile. They are
        not compared with Ironic and Placement.
    """

    cell: CellSnapshot
    nodes: Mapping[str, model.Node] | None = None
    providers: Mapping[str, str] | None = None
    changing: frozenset[str] = frozenset()

    @functools.cached_property
    def rows(self) -> Mapping[str, Sequence[CellNode]]:
        """Rows by the name of their node; most nodes have one."""
        found: dict[str, list[CellNode]] = collections.defaultdict(list)
        for row in self.cell.nodes:
            found[row.name].append(row)
        return dict(found)

    @functools.cached_property
    def row_of(self) -> Mapping[str, CellNode]:
        """The row of each node that Nova uses: the one with its uuid."""
        return {
            name: next((row for row in rows if row.uuid == name), rows[0])
            for name, rows in self.rows.items()
        }

    @functools.cached_property
    def instances(self) -> Mapping[str, CellInstance]:
        """Running instances by their uuid."""
        return {one.uuid: one for one in self.cell.instances}


def changed(before: CellSnapshot, after: CellSnapshot) -> frozenset[str]:
    """Return the nodes whose rows or instances differ in two snapshots."""
    return frozenset(
        one.name for one in {*before.nodes} ^ {*after.nodes}
    ) | frozenset(one.node for one in {*before.instances} ^ {*after.instances})
