"""Delete what is on record for nodes that Ironic does not have.

A service does this for its own nodes. An operator acts in its place, whether
it is alive or not, behind the same gates.

The record of a node with an instance is never deleted. Behind the other gates
an operator confirms that the instance does not exist, which forgets it; then
the record is deleted as any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from oslo_log import log

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.records import SeenOwner
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.deletion import gates, missing_nodes
from ironic_ownership.engine.deletion.missing_nodes import Batch, Limits
from ironic_ownership.engine.deletion.remover import NodeDeletion, Remover
from ironic_ownership.engine.gates import (
    Progress,
    Result,
    Stopping,
    batches,
    never_stopping,
    no_progress,
    proposed,
)
from ironic_ownership.engine.ports import Ports

LOG = log.getLogger(__name__)
_Records = Sequence[model.ComputeNode]


@dataclasses.dataclass(frozen=True)
class Deletion:
    """Compute nodes to delete, or whose instances are to be forgotten.

    :param batches: the gates that the nodes of one owner share, by owner.
    :param epochs: the epoch of each service when the gates were evaluated.
    """

    nodes: Sequence[NodeDeletion]
    batches: Mapping[str | None, Batch]
    epochs: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class DeleteNodes:
    """Delete compute nodes, or forget the instances on them.

    Threading: one thread.

    :param scope: the one configured here: law 4.
    """

    ports: Ports
    limits: Limits
    scope: model.Scope

    def propose(
        self, uuids: Iterable[str], *, instances: bool = False
    ) -> Deletion:
        """Evaluate every gate of every node, or of every instance to forget.

        :param uuids: of nodes; of instances, or of the nodes on which they
            are, if these are to be forgotten.
        :raises NotFoundError: listing all that are unknown, or for which no
            instance is on record.
        """
        find = _with_instances if instances else _find
        passed = Result.WOULD_FORGET if instances else Result.WOULD_DELETE
        records = self.ports.records
        epochs = {row.host: row.epoch for row in records.services()}
        everything = records.compute_nodes()
        chosen = find(dict.fromkeys(uuids), everything)
        batches = {
            host: missing_nodes.evaluate(
                self.ports.ironic,
                self.limits,
                self.scope,
                [record for record in everything if record.host == host],
            )
            for host in {record.host for record in chosen}
        }
        nodes = [self._evaluate(r, batches[r.host], passed) for r in chosen]
        return Deletion(nodes, batches, epochs)

    def execute(
        self,
        proposed: Deletion,
        origin: Origin,
        *,
        progress: Progress = no_progress,
        stopping: Stopping = never_stopping,
    ) -> Deletion:
        """Delete or forget those that no gate refuses, each evaluated again.

        :param stopping: asked before each node; the remaining nodes keep the
            result that was proposed.
        """
        done: list[NodeDeletion] = []
        records = self.ports.records
        for (node,) in batches(proposed.nodes, 1, progress, stopping):
            record, result = node.record, node
            batch = proposed.batches[record.host]
            epoch = proposed.epochs.get(record.host or '')
            seen = SeenOwner(record.host, epoch)
            if node.result is Result.WOULD_DELETE:
                result = Remover(self.ports).remove(
                    record,
                    batch,
                    begin=partial(records.begin_deletion, record.uuid, seen),
                    delete=partial(records.remove, record.uuid, seen, origin),
                )
                if result.deleted:
                    LOG.info('deleted compute node %s', record.uuid)
            elif node.result is Result.WOULD_FORGET:
                result = self._evaluate(record, batch, node.result)
                if not result.refused:
                    result = self._forget(result, seen, origin)
            done.append(result)
        rest = proposed.nodes[len(done) :]
        return dataclasses.replace(proposed, nodes=[*done, *rest])

    def _evaluate(
        self, record: model.ComputeNode, batch: Batch, passed: Result
    ) -> NodeDeletion:
        results = Remover(self.ports).examine(record, batch)
        if passed is Result.WOULD_FORGET:
            # The operator confirms this one.
            results = tuple(r for r in results if r.gate != gates.NO_INSTANCE)
        return NodeDeletion(
            result=proposed(results, passed), gates=results, record=record
        )

    def _forget(
        self, node: NodeDeletion, seen: SeenOwner, origin: Origin
    ) -> NodeDeletion:
        uuid, instance = node.record.uuid, node.record.instance_uuid or ''
        objection = self.ports.records.forget_instance(
            uuid, instance, seen, origin
        )
        if objection is not None:
            return node.late(gates.STILL_OWNER, objection)
        LOG.info('forgot instance %s of node %s', instance, uuid)
        return dataclasses.replace(node, result=Result.FORGOTTEN)


def _find(uuids: Iterable[str], records: _Records) -> _Records:
    by_uuid = {record.uuid: record for record in records}
    unknown = [
        str(suggestions.unknown('compute node', uuid, by_uuid.keys()))
        for uuid in uuids
        if uuid not in by_uuid
    ]
    if unknown:
        raise exceptions.NotFoundError('; '.join(unknown))
    return [by_uuid[uuid] for uuid in uuids]


def _with_instances(uuids: Iterable[str], records: _Records) -> _Records:
    """Return the records with these instances, each of them once."""
    with_instance = [r for r in records if r.instance_uuid is not None]
    known = {r.uuid: r for r in with_instance}
    known |= {str(r.instance_uuid): r for r in with_instance}
    unknown = [uuid for uuid in uuids if uuid not in known]
    if unknown:
        raise exceptions.NotFoundError(
            'no open instance is on record with, or on the node with, the '
            f'uuid {texts.listed(unknown)}'
        )
    return list({known[uuid].uuid: known[uuid] for uuid in uuids}.values())
