"""Verification of a move: compare records, Ironic and Placement afterwards.

Reports differences and repairs nothing. A move writes neither to Ironic nor
to Placement, so a difference there has another cause. Changes that the new
owner has reported to Placement meanwhile are expected.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.moves import NodeMove
from ironic_ownership.engine.changes.case import Proposal
from ironic_ownership.engine.changes.release import Releaser
from ironic_ownership.engine.placement import inventory_diff

SAMPLE = 200
"""The maximum number of providers to compare: each costs requests twice."""


_Records = Mapping[str, model.ComputeNode]
_Nodes = Mapping[str, model.Node | None] | str
"""Of Ironic by uuid, ``None`` if it does not have it; or why it is unknown."""


_Provider = tuple[frozenset[str] | None, frozenset[str] | None]
"""Consumers and traits of a provider; ``None`` if it does not exist."""


class Difference(NamedTuple):
    """A check that failed.

    :param check: its stable code.
    :param uuid: of the node; ``None`` if it concerns all of them.
    """

    check: str
    uuid: str | None
    detail: str

    def __str__(self) -> str:
        """Return it in one line."""
        return f'node {self.uuid}: {self.detail}' if self.uuid else self.detail


@dataclasses.dataclass
class Verification:
    """A snapshot before the moves of an operation, and a comparison after."""

    operation: Releaser
    _before: dict[str, _Provider] = dataclasses.field(default_factory=dict)
    _unknown: str | None = None

    def remember_providers(self, nodes: Iterable[NodeMove]) -> None:
        """Read the Placement providers of at most :data:`SAMPLE` nodes.

        Those of other moves are kept. A failure of Placement does not stop
        the move: :meth:`compare` reports it.
        """
        sample = itertools.islice((node.uuid for node in nodes), SAMPLE)
        self._before.update(self._providers(sample))

    def compare(self, moves: Iterable[Proposal]) -> list[Proposal]:
        """Return moves with a sentence for each difference of their nodes."""
        results = list(moves)
        return [
            dataclasses.replace(result, findings=[str(one) for one in found])
            for result, found in zip(
                results, self.differences(results), strict=True
            )
        ]

    def differences(
        self, results: Sequence[Proposal]
    ) -> list[list[Difference]]:
        """Return the differences of the nodes of each move.

        One list of Ironic serves for all of them.
        """
        uuids = [node.uuid for result in results for node in result.moved]
        if not uuids:
            return [[] for _ in results]
        known = self.operation.ports.records.compute_nodes_by_uuid(uuids)
        records = {record.uuid: record for record in known}
        shards = {record.shard for record in known}
        nodes: _Nodes
        try:
            nodes = self.operation.read_nodes(uuids, shards, summary=True)
        except exceptions.IronicError as exc:
            nodes = str(exc)
        separated = set(self.operation.moves.separated())
        owners = {uuid: record.host for uuid, record in records.items()}
        found = []
        for result in results:
            uuids = [node.uuid for node in result.moved]
            host = result.order.destination
            text = 'its instance is on record with another service'
            found.append(
                [
                    Difference(
                        'record',
                        uuid,
                        f'its owner is {owners.get(uuid) or "no service"}, '
                        f'not {host}',
                    )
                    for uuid in uuids
                    if owners.get(uuid) != host
                ]
                + [
                    Difference('instance', uuid, text)
                    for uuid in uuids
                    if uuid in separated
                ]
                + _differences_from_ironic(uuids, records, nodes)
                + self._changed_providers(uuids, records)
            )
        return found

    def _changed_providers(
        self, uuids: Iterable[str], records: _Records
    ) -> list[Difference]:
        seen = [uuid for uuid in uuids if uuid in self._before]
        after = self._providers(seen)
        if self._unknown is not None:
            return [Difference('placement', None, self._unknown)]
        return [
            Difference('placement', uuid, 'its Placement provider has changed')
            for uuid in seen
            if after[uuid] != self._before[uuid]
            and not _is_reported(
                self._before[uuid], after[uuid], records.get(uuid)
            )
        ]

    def _providers(self, uuids: Iterable[str]) -> Mapping[str, _Provider]:
        source = self.operation.ports.placement
        if source is None or self._unknown is not None:
            return {}
        seen: dict[str, _Provider] = {}
        try:
            for uuid in uuids:
                traits = source.traits(uuid)
                names = traits.names if traits else None
                seen[uuid] = source.consumers(uuid), names
        except exceptions.PlacementError as exc:
            # A failure of Placement does not stop the move.
            self._unknown = f'Placement could not be compared: {exc}'
        return seen


def _differences_from_ironic(
    uuids: Sequence[str], records: _Records, nodes: _Nodes
) -> list[Difference]:
    if isinstance(nodes, str):
        text = f'Ironic could not be compared: {nodes}'
        return [Difference('ironic', None, text)] if uuids else []
    found = []
    for uuid in uuids:
        node, record = nodes[uuid], records.get(uuid)
        if node is None:
            text = 'Ironic does not have it'
        elif record and node.instance_uuid != record.instance_uuid:
            text = (
                f'its record has instance {record.instance_uuid or "none"}, '
                f'Ironic has {node.instance_uuid or "none"}'
            )
        else:
            continue
        found.append(Difference('ironic', uuid, text))
    return found


def _is_reported(
    before: _Provider, after: _Provider, record: model.ComputeNode | None
) -> bool:
    """Tell whether the owner itself has reported the provider's state."""
    consumers, traits = after
    if record is None or traits is None:
        return False
    _, reported = inventory_diff.parts(record.placement_digest)
    return (before[0] or frozenset()) == consumers and (
        inventory_diff.traits_part(traits) == reported
    )
