"""Adoption of the nodes of a Nova cell, and the return of its services.

In an adoption the rows become records; from a service that is returned to
stock Nova nothing is taken any more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.engine import gates, suggestions
from ironic_ownership.engine.ports import BareMetal, Records
from ironic_ownership_nova.cell import check
from ironic_ownership_nova.cell.model import CellNode, Result, State
from ironic_ownership_nova.cell.port import SqlCell

BATCH = 500
"""Nodes of one transaction."""


@dataclasses.dataclass(frozen=True)
class Adoption:
    """The nodes of a cell, and what becomes of each.

    :param findings: what stands in the way of some nodes, or is to be known.
    """

    nodes: Sequence[Result]
    findings: Sequence[check.Finding] = ()

    @property
    def refused(self) -> list[Result]:
        """The nodes that stay as they are."""
        return [n for n in self.nodes if n.state is State.REFUSED]


@dataclasses.dataclass(frozen=True)
class AdoptCell:
    """Adopt all nodes of a cell, while its services run.

    Every batch is one transaction, so a run that was killed is repeated, and
    continues where it ended.

    :param scope: of the configured policies: with a shard key set every list
        names a shard, each of Ironic in turn.
    """

    cell: SqlCell
    records: Records
    ironic: BareMetal
    scope: model.Scope

    def propose(self) -> Adoption:
        """Return what an adoption would do now. Writes nothing.

        :raises OwnershipError: if the cell or the records can't be read.
        """
        found = self.cell.read()
        findings = check.of_snapshot(found)
        owners = {n.uuid: n for n in self.records.compute_nodes()}
        services = {s.host: s for s in self.records.services()}
        running = {one.node: one.uuid for one in found.instances}
        faults = {
            subject: finding
            for finding in findings
            if finding.prevents_adoption
            for subject in finding.subjects
        }
        return Adoption(
            [
                _proposed(
                    node,
                    faults.get(node.name),
                    owners.get(node.name),
                    running.get(node.name),
                    services,
                )
                for node in sorted(found.nodes, key=lambda node: node.name)
            ],
            findings,
        )

    def execute(
        self,
        proposed: Adoption,
        actor: str,
        *,
        request_id: str | None = None,
        progress: gates.Progress = gates.no_progress,
    ) -> Adoption:
        """Adopt the nodes; those that do not agree are refused.

        :param progress: receives how many nodes are done, and of how many.
        :raises OwnershipError: if the database or Ironic fails; the batches
            before stay adopted.
        """
        known = {
            node.uuid: node
            for scope in self._scopes()
            for node in self.ironic.scan(scope)
        }
        uuids = [node.uuid for node in proposed.nodes if node.uuid]
        results: list[Result] = []
        for batch in gates.batches(uuids, BATCH, progress):
            results += self.cell.adopt(
                {uuid: known.get(uuid) for uuid in batch}, actor, request_id
            )
        return dataclasses.replace(proposed, nodes=results)

    def _scopes(self) -> list[model.Scope]:
        # The services of a cell have other shards and groups than this one.
        if self.scope.shard is None:
            return [model.Scope()]
        shards = sorted(filter(None, self.ironic.shard_counts()))
        return [model.Scope(shard=shard) for shard in shards]


def _proposed(
    node: CellNode,
    fault: check.Finding | None,
    record: model.ComputeNode | None,
    instance: str | None,
    services: dict[str, model.Service],
) -> Result:
    host = model.canonical_host(node.host or '')
    if fault is not None:
        detail = f'{fault.code}: {fault.what}'
        return Result(node.name, host, State.REFUSED, detail)
    owner = record.host if record else None
    known = record.instance_uuid if record else None
    service = services.get(owner or '')
    follows = service is None or service.never_registered
    if owner == host and (instance in (None, known) or not follows):
        return Result(node.name, host, State.UNCHANGED)
    if not follows:
        detail = f'owned: {owner} owns it on record, its row names {node.host}'
        return Result(node.name, host, State.REFUSED, detail)
    return Result(node.name, host, State.ADOPTED)


@dataclasses.dataclass(frozen=True)
class ReturnServices:
    """Return services whose nova-compute has Nova's own driver again.

    Their records stay as they are: no peer takes a node of them, and another
    adoption follows what stock Nova does.
    """

    cell: SqlCell
    records: Records
    backend: MembershipBackend

    def propose(self, hosts: Sequence[str]) -> list[Result]:
        """Return what would become of these services. Writes nothing.

        :param hosts: names of services (case-insensitive).
        :raises NotFoundError: with the nearest names.
        :raises OwnershipError: if records or members can't be read.
        """
        rows = {row.host: row for row in self.records.services()}
        names = {suggestions.known_service(host, rows) for host in hosts}
        alive = self.backend.view().hosts
        return [_returned(rows[name], alive) for name in sorted(names)]

    def execute(
        self,
        proposed: Sequence[Result],
        actor: str,
        request_id: str | None = None,
    ) -> list[Result]:
        """Return the proposed services, each in one transaction.

        Those that were started since are refused.

        :raises OwnershipError: if the database fails; the services before
            stay returned.
        """
        alive = self.backend.view().hosts
        results = [
            _alive(one.host)
            if one.state is State.RETURNED and one.host in alive
            else one
            for one in proposed
        ]
        for one in results:
            if one.host and one.state is State.RETURNED:
                self.cell.return_service(one.host, actor, request_id)
        return results


def _returned(row: model.Service, alive: frozenset[str]) -> Result:
    if row.host in alive:
        return _alive(row.host)
    state = State.UNCHANGED if row.never_registered else State.RETURNED
    return Result(None, row.host, state)


def _alive(host: str) -> Result:
    return Result(
        None,
        host,
        State.REFUSED,
        'alive: a process of it is a member; stop its nova-compute first, or '
        'after a crash wait for [membership] member_ttl',
    )
