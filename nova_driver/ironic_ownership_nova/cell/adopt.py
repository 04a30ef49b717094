"""Adoption of the nodes of a Nova cell, and the return of its services.

In an adoption the rows become records; from a service that is returned to
stock Nova nothing is taken any more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.events import Origin
from ironic_ownership.engine import gates, suggestions
from ironic_ownership.engine.ports import BareMetal, Records
from ironic_ownership_nova.cell import check
from ironic_ownership_nova.cell.model import CellNode, Result, State
from ironic_ownership_nova.cell.port import SqlCell

BATCH = 500
"""Nodes of one transaction."""


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

    def propose(self) -> list[Result]:
        """Return what an adoption would do with each node. Writes nothing.

        :raises OwnershipError: if the cell or the records can't be read.
        """
        found = self.cell.read()
        records = {n.uuid: n for n in self.records.compute_nodes()}
        services = {s.host: s for s in self.records.services()}
        running = {one.node: one.uuid for one in found.instances}
        faults = {
            subject: finding
            for finding in check.of_snapshot(found)
            if finding.prevents_adoption
            for subject in finding.subjects
        }

        def proposed(node: CellNode) -> Result:
            name, host = node.name, model.canonical_host(node.host or '')
            fault, record = faults.get(name), records.get(name)
            if fault is not None:
                detail = f'{fault.code}: {fault.what}'
                return Result(name, host, State.REFUSED, detail)
            owner = record.host if record else None
            known = None, record.instance_uuid if record else None
            service = services.get(owner or '')
            follows = service is None or service.never_registered
            if owner == host and (running.get(name) in known or not follows):
                return Result(name, host, State.UNCHANGED)
            if follows:
                return Result(name, host, State.ADOPTED)
            detail = f'owned: {owner} owns it on record, its row names '
            return Result(name, host, State.REFUSED, f'{detail}{node.host}')

        return [
            proposed(node)
            for node in sorted(found.nodes, key=lambda node: node.name)
        ]

    def execute(
        self, proposed: Sequence[Result], origin: Origin
    ) -> list[Result]:
        """Adopt the nodes; those that do not agree are refused.

        :raises OwnershipError: if the database or Ironic fails; the batches
            before stay adopted.
        """
        shards: Sequence[str | None] = [None]
        # The services of a cell have other shards and groups than this one.
        if self.scope.shard is not None:
            shards = sorted(filter(None, self.ironic.shard_counts()))
        known = {
            node.uuid: node
            for shard in shards
            for node in self.ironic.scan(model.Scope(shard=shard))
        }
        uuids = [node.uuid for node in proposed if node.uuid]
        results: list[Result] = []
        for batch in gates.batches(uuids, BATCH):
            results += self.cell.adopt(
                {uuid: known.get(uuid) for uuid in batch}, origin
            )
        return results


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
        self, proposed: Sequence[Result], origin: Origin
    ) -> list[Result]:
        """Return the proposed services, each in one transaction.

        Those that were started since are refused.

        :raises OwnershipError: if the database fails; the services before
            stay returned.
        """
        hosts = [str(o.host) for o in proposed if o.state is State.RETURNED]
        now = {one.host: one for one in self.propose(hosts)}
        for one in now.values():
            if one.host and one.state is State.RETURNED:
                self.cell.return_service(one.host, origin)
        return [now.get(one.host, one) for one in proposed]


def _returned(row: model.Service, alive: frozenset[str]) -> Result:
    if row.host in alive:
        return Result(
            None,
            row.host,
            State.REFUSED,
            'alive: a process of it is a member; stop its nova-compute first, '
            'or after a crash wait for [membership] member_ttl',
        )
    state = State.UNCHANGED if row.never_registered else State.RETURNED
    return Result(None, row.host, state)
