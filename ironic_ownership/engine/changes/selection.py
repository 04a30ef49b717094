"""The nodes of a move: their selection, and one snapshot of them.

Nodes are read from Ironic in lists, and one by one only if they are few or in
no list of the shards in which the records or Ironic have them. With a shard
key set every list names a shard: law 4.
"""

from __future__ import annotations

import dataclasses
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.engine.changes.case import ChangeSnapshot
from ironic_ownership.engine.ports import Moves, Ports

FEW = 20
"""The maximum number of nodes that are read one by one."""

_SHARDS = 10
"""With more shards, one list of all nodes is cheaper, where allowed."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """The nodes that an operator selects, by name or by place.

    :param uuids: of named nodes, in lower case, each once; ``None`` selects
        by the other two.
    :param source: only nodes that this service owns.
    :param scope: only nodes in this scope, as Ironic has them now.
    """

    uuids: Sequence[str] | None = None
    source: str | None = None
    scope: model.Scope | None = None


def scope_of(
    shard: str | None, group: str | None, configured: model.Scope
) -> model.Scope | None:
    """Return the scope that an operator names, or ``None``.

    :param group: a conductor group, in any case.
    :param configured: the scope of the configured policies: with a shard key
        set every list names a shard.
    """
    if shard is None and group is None:
        return None
    scope = model.Scope(shard=shard)
    if shard is None and configured.shard is not None:
        scope = configured
    if group is not None:
        scope = dataclasses.replace(scope, conductor_group=group.lower())
    return scope


@dataclasses.dataclass(frozen=True)
class NodeReader:
    """Reads nodes from Ironic; many of them by lists of their shards.

    :param sharded: tells whether every list of nodes has to name a shard:
        law 4. Called only where nodes may be listed.
    """

    ports: Ports
    _: dataclasses.KW_ONLY
    sharded: Callable[[], bool]

    def read_nodes(
        self,
        uuids: Collection[str],
        shards: Collection[str | None],
        *,
        summary: bool = False,
    ) -> dict[str, model.Node | None]:
        """Read nodes.

        :param shards: in which the nodes are expected.
        :param summary: of a list read the fields of a summary only.
        :returns: each node by uuid, ``None`` if Ironic does not have it.
        :raises IronicError: if Ironic fails.
        """
        found: dict[str, model.Node | None] = {}
        scopes = self._lists(shards) if len(uuids) > FEW else []
        wanted = set(uuids)
        for scope in scopes:
            found.update(self._listed(scope, wanted, summary))
        for uuid in uuids:
            if uuid in found:
                continue
            node = found[uuid] = self.ports.ironic.get(uuid)
            if node is None or len(wanted) - len(found) < FEW:
                continue
            # Its shard is not that on record: others are likely to be there,
            # too.
            scope = model.Scope(shard=node.shard)
            if scope not in scopes and not (
                self.sharded() and node.shard is None
            ):
                scopes.append(scope)
                found.update(self._listed(scope, wanted, summary))
        return found

    def _lists(self, shards: Collection[str | None]) -> list[model.Scope]:
        named = sorted(shard for shard in shards if shard is not None)
        partial = len(named) < len(shards) or len(named) > _SHARDS
        if partial and not self.sharded():
            return [model.Scope()]
        return [model.Scope(shard=shard) for shard in named]

    def _listed(
        self, scope: model.Scope, wanted: Collection[str], summary: bool
    ) -> dict[str, model.Node]:
        return {
            node.uuid: node
            for node in self.ports.ironic.scan(scope, summary=summary)
            if node.uuid in wanted
        }


@dataclasses.dataclass(frozen=True)
class SnapshotReader(NodeReader):
    """Reads everything that the gates of selected nodes need."""

    moves: Moves

    def read(
        self, selection: Selection, destination: str | None
    ) -> tuple[Sequence[str], ChangeSnapshot]:
        """Read the selected nodes, and what is known about them.

        The order is that of a refresh: services, records, nodes, members. If
        Ironic or the membership fails, their gates cannot be evaluated.

        :param destination: canonical name of the service that gets the nodes;
            what its policies check decides which fields of nodes are read.
            ``None`` if any service may get them.
        :returns: the uuids, in order, and the snapshot for their gates.
        :raises OwnershipError: if the selection can't be read.
        """
        services = {s.host: s for s in self.ports.records.services()}
        records = self._records(selection)
        summary = destination is not None and self._checks_scope_only(
            services.get(destination)
        )
        found = self._nodes(selection, records, summary)
        view = self._view(services.values())
        if summary and not self._checks_scope_only(
            None if isinstance(view, str) else view.get(destination or '')
        ):
            # It runs with other policies than those it has registered with.
            found = self._nodes(selection, records, False)
            view = self._view(services.values())
        uuids = _uuids(selection, records)
        if selection.scope is not None:
            uuids = [uuid for uuid in uuids if uuid in found]
        to = dict.fromkeys(uuids, destination)
        return uuids, self.snapshot(
            services.values(), view, records, found, to
        )

    def snapshot(
        self,
        services: Iterable[model.Service],
        view: model.View | str,
        records: Mapping[str, model.ComputeNode],
        nodes: Mapping[str, model.Node | None] | str,
        destinations: Mapping[str, str | None],
    ) -> ChangeSnapshot:
        """Read the instances of nodes, and the objections of the cell.

        :param destinations: hosts by the uuid of a node; ``None`` for one
            that is released.
        """
        return ChangeSnapshot(
            {service.host: service for service in services},
            view,
            records,
            self.moves.open_instances(destinations),
            nodes,
            self.moves.objections(
                {uuid: to for uuid, to in destinations.items() if to}
            ),
        )

    def _records(self, selection: Selection) -> dict[str, model.ComputeNode]:
        stored = self.ports.records
        if selection.uuids is None:
            found = stored.compute_nodes(NodeFilter(host=selection.source))
        else:
            found = stored.compute_nodes_by_uuid(selection.uuids)
        return {record.uuid: record for record in found}

    def _checks_scope_only(
        self, known: model.Service | model.Member | None
    ) -> bool:
        """Tell whether a summary of a node is enough for all gates.

        :param known: the destination; if it is unknown, a gate refuses all
            nodes anyway.
        """
        interpret = self.ports.interpret
        policies = None if known is None else interpret(known.settings)
        return policies is None or not policies.beyond_scope

    def _nodes(
        self,
        selection: Selection,
        records: Mapping[str, model.ComputeNode],
        summary: bool,
    ) -> Mapping[str, model.Node | None] | str:
        if selection.scope is not None:
            return self._in_scope(records, selection.scope, summary)
        uuids = _uuids(selection, records)
        shards = {record.shard for record in records.values()}
        try:
            return self.read_nodes(uuids, shards, summary=summary)
        except exceptions.IronicError as exc:
            return str(exc)

    def _in_scope(
        self,
        records: Mapping[str, model.ComputeNode],
        scope: model.Scope,
        summary: bool,
    ) -> dict[str, model.Node | None]:
        """Return the nodes of a scope, and records there that are gone."""
        ironic = self.ports.ironic
        found: dict[str, model.Node | None] = {
            **self._listed(scope, records, summary)
        }
        remaining = [
            record
            for record in records.values()
            if record.uuid not in found
            and scope.matches(record.shard, record.conductor_group)
        ]
        if len(remaining) > FEW and not self.sharded():
            everywhere = {
                node.uuid for node in ironic.scan(model.Scope(), summary=True)
            }
            remaining = [
                record for record in remaining if record.uuid not in everywhere
            ]
        for record in remaining:
            node = ironic.get(record.uuid)
            if node is None or scope.matches(node.shard, node.conductor_group):
                found[record.uuid] = node
        return found

    def _view(self, services: Iterable[model.Service]) -> model.View | str:
        try:
            return self.ports.backend.view().serving(services)
        except exceptions.MembershipError as exc:
            return str(exc)


def _uuids(
    selection: Selection, records: Mapping[str, model.ComputeNode]
) -> Sequence[str]:
    return list(records) if selection.uuids is None else selection.uuids


def shard_of(scope: model.Scope | None) -> str | None:
    """Return the shard that policies select, if their scope is known."""
    return None if scope is None or scope.nothing else scope.shard
