"""Delete the records and providers of nodes that Ironic does not have.

A service does this for its own nodes. An operator acts in its place, whether
it is alive or not, behind the same gates.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.records import Records
from ironic_ownership.contracts.removals import Removals
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.deletion import gates, mass_loss
from ironic_ownership.engine.deletion.missing_nodes import Limits
from ironic_ownership.engine.deletion.remover import Remover
from ironic_ownership.engine.gates import GateResult, refusals
from ironic_ownership.engine.operations.caller import (
    Progress,
    Stopping,
    never_stopping,
    no_progress,
)

LOG = log.getLogger(__name__)


class Result(enum.StrEnum):
    """The result for one compute node; the codes are stable."""

    WOULD_DELETE = 'would_delete'
    DELETED = 'deleted'
    REFUSED = 'refused'


@dataclasses.dataclass(frozen=True)
class NodeDeletion:
    """One compute node to delete, with the result of every gate."""

    record: model.ComputeNode
    result: Result
    gates: tuple[GateResult, ...]
    provider_deleted: bool = False

    @property
    def refused(self) -> list[GateResult]:
        """The gates that forbid the deletion."""
        return refusals(self.gates)


@dataclasses.dataclass(frozen=True)
class Deletion:
    """Compute nodes to delete.

    :param batches: the gates that the nodes of one owner share, by owner.
    :param epochs: the epoch of each service when the gates were evaluated.
    """

    nodes: Sequence[NodeDeletion]
    batches: Mapping[str | None, mass_loss.Batch]
    epochs: Mapping[str, int]

    @property
    def refused(self) -> list[NodeDeletion]:
        """The nodes that are not deleted."""
        return [n for n in self.nodes if n.result is Result.REFUSED]


@dataclasses.dataclass(frozen=True)
class DeleteNodes:
    """Delete compute nodes.

    Threading: one thread.

    :param placement: ``None`` where the deployment does not use Placement.
    :param scope: the one configured here: law 4.
    """

    records: Records
    source: inventory.Inventory
    placement: Placement | None
    limits: Limits
    scope: model.Scope

    @property
    def remover(self) -> Remover:
        """The evidence of one record, and its deletion."""
        return Remover(self.records, self.source, self.placement)

    def propose(self, uuids: Iterable[str]) -> Deletion:
        """Evaluate every gate of every node.

        :raises NotFoundError: listing all that are unknown.
        """
        epochs = {row.host: row.epoch for row in self.records.services()}
        everything = self.records.compute_nodes()
        chosen = _find(uuids, everything)
        batches = self.batches(chosen, everything)
        nodes = [self._evaluate(r, batches[r.host]) for r in chosen]
        return Deletion(nodes, batches, epochs)

    def batches(
        self,
        chosen: Iterable[model.ComputeNode],
        everything: Sequence[model.ComputeNode],
    ) -> Mapping[str | None, mass_loss.Batch]:
        """Evaluate the gates that the nodes of one owner share, by owner.

        :param everything: all compute nodes on record.
        """
        return {
            host: mass_loss.evaluate(
                self.source,
                self.limits,
                self.scope,
                [record for record in everything if record.host == host],
            )
            for host in {record.host for record in chosen}
        }

    def execute(
        self,
        proposed: Deletion,
        removals: Removals,
        *,
        actor: str,
        request_id: str | None = None,
        progress: Progress = no_progress,
        stopping: Stopping = never_stopping,
    ) -> Deletion:
        """Delete the nodes that no gate refuses, each evaluated again.

        :param stopping: asked before each node; the remaining nodes keep the
            result that was proposed.
        """
        results = list(proposed.nodes)
        for place, node in enumerate(proposed.nodes):
            if stopping():
                break
            if node.result is Result.WOULD_DELETE:
                results[place] = self._delete(
                    node.record, proposed, removals, actor, request_id
                )
            progress(place + 1, len(results))
        return dataclasses.replace(proposed, nodes=results)

    def _evaluate(
        self, record: model.ComputeNode, batch: mass_loss.Batch
    ) -> NodeDeletion:
        results = gates.evaluate(self.remover.examine(record, batch))
        refused = bool(refusals(results))
        return NodeDeletion(
            record,
            Result.REFUSED if refused else Result.WOULD_DELETE,
            results,
        )

    def _delete(
        self,
        record: model.ComputeNode,
        proposed: Deletion,
        removals: Removals,
        actor: str,
        request_id: str | None,
    ) -> NodeDeletion:
        epoch = proposed.epochs.get(record.host or '')
        removal = self.remover.remove(
            record,
            proposed.batches[record.host],
            begin=lambda: removals.begin_deletion(
                record.uuid, seen_host=record.host, seen_epoch=epoch
            ),
            forget=lambda: removals.remove(
                record.uuid,
                seen_host=record.host,
                seen_epoch=epoch,
                actor=actor,
                request_id=request_id,
            ),
        )
        if removal.deleted:
            LOG.info('deleted compute node %s', record.uuid)
        return NodeDeletion(
            record,
            Result.DELETED if removal.deleted else Result.REFUSED,
            removal.gates,
            removal.provider_deleted,
        )


def _find(
    uuids: Iterable[str], records: Iterable[model.ComputeNode]
) -> list[model.ComputeNode]:
    """Return the records of these nodes, each of them once."""
    by_uuid = {record.uuid: record for record in records}
    chosen = list(dict.fromkeys(uuids))
    unknown = [
        str(suggestions.unknown('compute node', uuid, by_uuid.keys()))
        for uuid in chosen
        if uuid not in by_uuid
    ]
    if unknown:
        raise exceptions.NotFoundError('; '.join(unknown))
    return [by_uuid[uuid] for uuid in chosen]
