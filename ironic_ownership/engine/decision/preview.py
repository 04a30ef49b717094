"""Preview of a change of services: the decisions before and after. Pure.

The services make the same decisions: nothing is estimated.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups


@dataclasses.dataclass(frozen=True, slots=True)
class Transfer:
    """One node that would change owner.

    :param before: its owner now; ``None`` if unowned.
    """

    node: model.Node
    before: str | None
    after: str | None
    deployed: bool


@dataclasses.dataclass(frozen=True)
class Flow:
    """All nodes that would change from one owner to another.

    :param instances: number of those with an instance.
    :param share: of all nodes that were compared, 0.0 to 1.0.
    """

    before: str | None
    after: str | None
    nodes: int
    instances: int
    share: float


@dataclasses.dataclass(frozen=True)
class Preview:
    """The result of a comparison.

    :param compared: number of nodes.
    :param stranded: nodes with an instance whose owner would be gone: not
        managed until an operator moves them.
    :param unserved: nodes without an instance that would stay on record with
        an owner that would be gone.
    """

    compared: int
    transfers: Sequence[Transfer]
    stranded: Sequence[Transfer]
    unserved: Sequence[Transfer]

    @property
    def share(self) -> float:
        """The share of nodes that would change owner, 0.0 to 1.0."""
        return len(self.transfers) / self.compared if self.compared else 0.0

    def flows(self) -> list[Flow]:
        """Sum the transfers up by owner before and after, largest first."""
        counts: collections.Counter[tuple[str | None, str | None]] = (
            collections.Counter()
        )
        deployed = counts.copy()
        for transfer in self.transfers:
            way = transfer.before, transfer.after
            counts[way] += 1
            deployed[way] += transfer.deployed
        return [
            Flow(*way, number, deployed[way], number / self.compared)
            for way, number in sorted(
                counts.items(),
                key=lambda item: (-item[1], [host or '' for host in item[0]]),
            )
        ]


def compare(
    nodes: Sequence[model.Node],
    records: Mapping[str, model.ComputeNode],
    before: PeerGroups,
    after: PeerGroups,
) -> Preview:
    """Decide twice, and return the nodes whose decisions differ.

    :param records: compute nodes by uuid; empty to compare the decisions of
        the policies alone.
    """
    now = decide.decide(nodes, records, before)
    then = decide.decide(nodes, records, after)
    lost = before.alive - after.alive
    transfers, stranded, unserved = [], [], []
    for node in nodes:
        owner, other = now[node.uuid].owner, then[node.uuid].owner
        if owner == other and owner not in lost:
            continue
        record = records.get(node.uuid)
        deployed = bool(
            node.instance_uuid or (record and record.instance_uuid)
        )
        transfer = Transfer(node, owner, other, deployed)
        if owner != other:
            transfers.append(transfer)
        elif deployed:
            stranded.append(transfer)
        else:
            unserved.append(transfer)
    return Preview(len(nodes), transfers, stranded, unserved)
