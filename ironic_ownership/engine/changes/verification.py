"""Verification of a move: compare records, Ironic and Placement afterwards.

Reports differences and repairs nothing. A move writes neither to Ironic nor
to Placement, so a difference there has another cause. Changes that the new
owner has reported to Placement meanwhile are expected.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.moves import NodeMove
from ironic_ownership.engine.changes import selection
from ironic_ownership.engine.placement import inventory_diff
from ironic_ownership.engine.ports import Moves, Ports

SAMPLE = 200
"""The maximum number of providers to compare: each costs requests twice."""


@dataclasses.dataclass(frozen=True)
class After:
    """Moved nodes, as they are after their moves.

    :param records: by uuid.
    :param separated: nodes whose instance is with another service.
    :param nodes: of Ironic by uuid, ``None`` if it does not have them; or why
        they are unknown.
    """

    records: Mapping[str, model.ComputeNode]
    separated: Collection[str]
    nodes: Mapping[str, model.Node | None] | str


@dataclasses.dataclass(frozen=True)
class _Provider:
    """The compared parts of a provider; ``None`` if it does not exist."""

    consumers: frozenset[str] | None
    traits: frozenset[str] | None


@dataclasses.dataclass
class Verification:
    """A snapshot before some moves, and a comparison after them.

    :param sharded: whether every list of nodes has to name a shard.
    """

    ports: Ports
    moves: Moves
    _: dataclasses.KW_ONLY
    sharded: bool
    _before: dict[str, _Provider] = dataclasses.field(
        default_factory=dict, init=False
    )
    _unknown: str | None = dataclasses.field(default=None, init=False)

    def remember_providers(self, uuids: Iterable[str]) -> None:
        """Read the Placement providers of at most :data:`SAMPLE` nodes.

        Those of other moves are kept. A failure of Placement does not stop
        the move: :meth:`compare` reports it.
        """
        sample = itertools.islice(uuids, SAMPLE)
        try:
            self._before.update(self._providers(sample))
        except exceptions.PlacementError as exc:
            self._unknown = f'Placement could not be compared: {exc}'

    def read(self, moved: Iterable[NodeMove]) -> After:
        """Read moved nodes, for :meth:`compare`."""
        uuids = [node.uuid for node in moved]
        known = self.ports.records.compute_nodes_by_uuid(uuids)
        shards = {record.shard for record in known}
        nodes: Mapping[str, model.Node | None] | str
        try:
            nodes = selection.read_nodes(
                self.ports.source, uuids, shards, self.sharded, summary=True
            )
        except exceptions.IronicError as exc:
            nodes = str(exc)
        return After(
            {record.uuid: record for record in known},
            set(self.moves.separated()),
            nodes,
        )

    def compare(
        self, destination: str, moved: Sequence[NodeMove], after: After
    ) -> list[str]:
        """Return one sentence for each difference that moved nodes show.

        :param after: at least these nodes, read after the move.
        """
        uuids = [node.uuid for node in moved]
        records = after.records
        found = [
            f'node {uuid}: its owner is {_owner(records.get(uuid))}, not '
            f'{destination}'
            for uuid in uuids
            if uuid not in records or records[uuid].host != destination
        ]
        found += [
            f'node {uuid}: its instance is on record with another service'
            for uuid in uuids
            if uuid in after.separated
        ]
        found += _differences_from_ironic(uuids, after)
        found += self._changed_providers(uuids, records)
        return found

    def _changed_providers(
        self, uuids: Iterable[str], records: Mapping[str, model.ComputeNode]
    ) -> list[str]:
        if self._unknown is not None:
            return [self._unknown]
        seen = [uuid for uuid in uuids if uuid in self._before]
        try:
            after = self._providers(seen)
        except exceptions.PlacementError as exc:
            return [f'Placement could not be compared: {exc}']
        return [
            f'node {uuid}: its Placement provider has changed'
            for uuid in seen
            if after[uuid] != self._before[uuid]
            and not _is_reported(
                self._before[uuid], after[uuid], records.get(uuid)
            )
        ]

    def _providers(self, uuids: Iterable[str]) -> Mapping[str, _Provider]:
        source = self.ports.placement
        if source is None:
            return {}
        seen: dict[str, _Provider] = {}
        for uuid in uuids:
            traits = source.traits(uuid)
            seen[uuid] = _Provider(
                source.consumers(uuid), traits.names if traits else None
            )
        return seen


def _differences_from_ironic(uuids: Sequence[str], after: After) -> list[str]:
    if isinstance(after.nodes, str):
        return [f'Ironic could not be compared: {after.nodes}']
    found = []
    for uuid in uuids:
        node, record = after.nodes[uuid], after.records.get(uuid)
        if node is None:
            found.append(f'node {uuid}: Ironic does not have it')
        elif record and node.instance_uuid != record.instance_uuid:
            found.append(
                f'node {uuid}: its record has instance '
                f'{record.instance_uuid or "none"}, Ironic has '
                f'{node.instance_uuid or "none"}'
            )
    return found


def _is_reported(
    before: _Provider, after: _Provider, record: model.ComputeNode | None
) -> bool:
    """Tell whether the owner itself has reported the provider's state."""
    if record is None or after.traits is None:
        return False
    _, reported = inventory_diff.parts(record.placement_digest)
    return (before.consumers or frozenset()) == after.consumers and (
        inventory_diff.traits_part(after.traits) == reported
    )


def _owner(record: model.ComputeNode | None) -> str:
    return (record.host if record else None) or 'no service'
