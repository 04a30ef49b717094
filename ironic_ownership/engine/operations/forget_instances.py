"""Forget the instances on record of nodes that Ironic does not have.

The record of such a node is never deleted, because a node with an instance is
not. Behind the other gates of a deletion an operator confirms that the
instance does not exist; then the record is deleted as any other.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.removals import Removals
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.deletion import gates, mass_loss
from ironic_ownership.engine.deletion.gates import Gate
from ironic_ownership.engine.gates import GateResult, Outcome, refusals
from ironic_ownership.engine.operations.delete_nodes import DeleteNodes

LOG = log.getLogger(__name__)


class Result(enum.StrEnum):
    """The result for one instance; the codes are stable."""

    WOULD_FORGET = 'would_forget'
    FORGOTTEN = 'forgotten'
    REFUSED = 'refused'


@dataclasses.dataclass(frozen=True)
class InstanceRemoval:
    """One instance to forget, with the result of every gate.

    :param record: of its node, as it was seen.
    """

    record: model.ComputeNode
    result: Result
    gates: tuple[GateResult, ...]

    @property
    def refused(self) -> list[GateResult]:
        """The gates that forbid it."""
        return refusals(self.gates)


@dataclasses.dataclass(frozen=True)
class Proposal:
    """Instances to forget.

    :param batches: the gates that the nodes of one owner share, by owner.
    :param epochs: the epoch of each service when the gates were evaluated.
    """

    instances: Sequence[InstanceRemoval]
    batches: Mapping[str | None, mass_loss.Batch]
    epochs: Mapping[str, int]

    @property
    def refused(self) -> list[InstanceRemoval]:
        """The instances that stay on record."""
        return [i for i in self.instances if i.result is Result.REFUSED]


@dataclasses.dataclass(frozen=True)
class ForgetInstances:
    """Forget instances, with the evidence of a deletion of their nodes.

    Threading: one thread.
    """

    nodes: DeleteNodes

    def propose(self, uuids: Iterable[str]) -> Proposal:
        """Evaluate every gate of every instance.

        :param uuids: of instances, or of the nodes on which they are.
        :raises NotFoundError: listing all for which none is on record.
        """
        epochs = {row.host: row.epoch for row in self.nodes.records.services()}
        everything = self.nodes.records.compute_nodes()
        chosen = _find(uuids, everything)
        batches = self.nodes.batches(chosen, everything)
        return Proposal(
            [self._evaluate(r, batches[r.host]) for r in chosen],
            batches,
            epochs,
        )

    def execute(
        self,
        proposed: Proposal,
        removals: Removals,
        *,
        actor: str,
        reason: str,
        request_id: str | None = None,
    ) -> Proposal:
        """Forget those that no gate refuses, each evaluated again.

        :param reason: why, for the event.
        """

        def forget(record: model.ComputeNode) -> InstanceRemoval:
            again = self._evaluate(record, proposed.batches[record.host])
            if again.result is Result.REFUSED:
                return again
            objection = removals.forget_instance(
                record.uuid,
                record.instance_uuid or '',
                seen_host=record.host,
                seen_epoch=proposed.epochs.get(record.host or ''),
                actor=actor,
                reason=reason,
                request_id=request_id,
            )
            return _done(again, objection)

        results = [
            forget(one.record) if one.result is Result.WOULD_FORGET else one
            for one in proposed.instances
        ]
        return dataclasses.replace(proposed, instances=results)

    def _evaluate(
        self, record: model.ComputeNode, batch: mass_loss.Batch
    ) -> InstanceRemoval:
        evidence = self.nodes.remover.examine(record, batch)
        results = tuple(
            result
            for result in gates.evaluate(evidence)
            # It is what the operator confirms here.
            if result.gate is not Gate.NO_INSTANCE
        )
        refused = bool(refusals(results))
        return InstanceRemoval(
            record,
            Result.REFUSED if refused else Result.WOULD_FORGET,
            results,
        )


def _done(one: InstanceRemoval, objection: str | None) -> InstanceRemoval:
    if objection is None:
        LOG.info(
            'forgot instance %s of node %s',
            one.record.instance_uuid,
            one.record.uuid,
        )
        return dataclasses.replace(one, result=Result.FORGOTTEN)
    hint = gates.HINTS[Gate.STILL_OWNER].format(uuid=one.record.uuid)
    changed = GateResult(Gate.STILL_OWNER, Outcome.FAILED, objection, (), hint)
    results = tuple(
        changed if result.gate is Gate.STILL_OWNER else result
        for result in one.gates
    )
    return dataclasses.replace(one, result=Result.REFUSED, gates=results)


def _find(
    uuids: Iterable[str], records: Sequence[model.ComputeNode]
) -> list[model.ComputeNode]:
    """Return the records with these instances, each of them once."""
    with_instance = [r for r in records if r.instance_uuid is not None]
    known = {r.uuid: r for r in with_instance}
    known |= {str(r.instance_uuid): r for r in with_instance}
    chosen = list(dict.fromkeys(uuids))
    unknown = [uuid for uuid in chosen if uuid not in known]
    if unknown:
        raise exceptions.NotFoundError(
            'no open instance is on record with, or on the node with, the '
            f'uuid {suggestions.listed(unknown)}'
        )
    return list({known[uuid].uuid: known[uuid] for uuid in chosen}.values())
