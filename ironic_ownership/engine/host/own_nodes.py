"""Own nodes on record, and which of them Ironic did not list. Pure.

Follows from what changed since the last refresh, as long as it can.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Set

from ironic_ownership.contracts import model
from ironic_ownership.contracts.compact import CompactMap


@dataclasses.dataclass(frozen=True, eq=False)
class OwnNodes(Collection[str]):
    """The uuids of the nodes that a service has on record.

    :param nodes: as Ironic listed them, of any owner.
    :param missing: own nodes that are not among them.
    :param affected: uuids of which one may differ from the last own nodes;
        ``None`` for any.
    """

    host: str
    nodes: CompactMap[model.Node]
    records: CompactMap[model.ComputeNode]
    count: int
    missing: Set[str]
    affected: Set[str] | None = None

    @classmethod
    def of(
        cls,
        host: str,
        nodes: CompactMap[model.Node],
        records: CompactMap[model.ComputeNode],
    ) -> OwnNodes:
        """Find them among all records."""
        count, missing = 0, set()
        for uuid, record in records.items():
            if record.host == host:
                count += 1
                if uuid not in nodes:
                    missing.add(uuid)
        return cls(host, nodes, records, count, missing)

    def next(
        self,
        nodes: CompactMap[model.Node],
        records: CompactMap[model.ComputeNode],
    ) -> OwnNodes:
        """Find them among other records; the same object without changes."""
        if nodes is self.nodes and records is self.records:
            return self
        if not (nodes.follows(self.nodes) and records.follows(self.records)):
            return self.of(self.host, nodes, records)
        affected = nodes.differing(self.nodes)
        affected |= records.differing(self.records)
        found = dataclasses.replace(
            self, nodes=nodes, records=records, affected=affected
        )
        own = {uuid for uuid in affected if uuid in found}
        lost = sum(uuid in self for uuid in affected)
        return dataclasses.replace(
            found,
            count=self.count + len(own) - lost,
            missing=(self.missing - affected)
            | {uuid for uuid in own if uuid not in nodes},
        )

    def __contains__(self, uuid: object) -> bool:
        record = self.records.get(uuid) if isinstance(uuid, str) else None
        return record is not None and record.host == self.host

    def __iter__(self) -> Iterator[str]:
        return (u for u, r in self.records.items() if r.host == self.host)

    def __len__(self) -> int:
        return self.count
