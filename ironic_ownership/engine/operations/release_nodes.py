"""Release free nodes, so that the policies decide about their owner again.

For nodes that left the scope of their service: without an operator a record
keeps its owner. The service continues to serve its other nodes.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import NodeMove
from ironic_ownership.engine.gates import GateResult, Outcome, refusals
from ironic_ownership.engine.moves import release_gates, selection
from ironic_ownership.engine.moves.handover import Releaser
from ironic_ownership.engine.moves.release_gates import Gate, Gates
from ironic_ownership.engine.moves.selection import Selection

LOG = log.getLogger(__name__)


class Result(enum.StrEnum):
    """The result for one node; the codes are stable."""

    WOULD_RELEASE = 'would_release'
    RELEASED = 'released'
    UNCHANGED = 'unchanged'
    """No service owned it."""

    REFUSED = 'refused'


@dataclasses.dataclass(frozen=True)
class NodeRelease:
    """One node to release, with the result of every gate.

    :param node: as it was seen; its source is the owner.
    :param next_owner: the service that claims it, as far as that is known.
    """

    node: NodeMove
    name: str | None
    next_owner: str | None
    result: Result
    gates: tuple[GateResult, ...] = ()

    @property
    def refused(self) -> list[GateResult]:
        """The gates that forbid it."""
        return refusals(self.gates)


@dataclasses.dataclass(frozen=True)
class ReleaseNodes:
    """The operation *release*. Threading: one thread."""

    releaser: Releaser

    def propose(self, uuids: Sequence[str]) -> list[NodeRelease]:
        """Evaluate every gate of every node; write nothing.

        :raises OwnershipError: if the records do not answer.
        """
        releaser = self.releaser
        read = selection.read(
            releaser.ports,
            releaser.moves,
            Selection(list(dict.fromkeys(uuids))),
            None,
            sharded=releaser.sharded,
        )
        gates = Gates(read.snapshot, releaser.ports.interpret)
        return [_proposed(uuid, read, gates) for uuid in read.uuids]

    def execute(
        self,
        proposed: Sequence[NodeRelease],
        *,
        request_id: str,
        actor: str,
        reason: str | None = None,
    ) -> list[NodeRelease]:
        """Release those that no gate refuses, as one transaction.

        Returns when other services may claim them.

        :raises OwnershipError: if records or Ironic do not answer; then the
            policies decide about released nodes again, now or a little later.
        """
        leaving = [
            one.node for one in proposed if one.result is Result.WOULD_RELEASE
        ]
        refused = self.releaser.release(
            leaving, request_id=request_id, actor=actor, reason=reason
        )
        released = [n.uuid for n in leaving if n.uuid not in refused]
        self.releaser.moves.end_release(request_id, released)
        for node in leaving:
            LOG.info(
                '%s: node %s of %s: %s',
                request_id,
                node.uuid,
                node.source,
                refused.get(node.uuid, 'released'),
            )
        return [
            _done(one, refused.get(one.node.uuid))
            if one.result is Result.WOULD_RELEASE
            else one
            for one in proposed
        ]


def _proposed(
    uuid: str, read: selection.Selected, gates: Gates
) -> NodeRelease:
    record = read.snapshot.records.get(uuid)
    if record is None:
        return NodeRelease(
            NodeMove(uuid, None),
            None,
            None,
            Result.REFUSED,
            release_gates.missing(uuid),
        )
    row = read.snapshot.services.get(record.host or '')
    node = NodeMove(uuid, record.host, row.epoch if row else None)
    try:
        taker = gates.next_owner(record)
    except exceptions.OwnershipError:
        taker = None
    if record.host is None:
        return NodeRelease(node, record.name, taker, Result.UNCHANGED)
    results = gates.evaluate(record)
    result = Result.REFUSED if refusals(results) else Result.WOULD_RELEASE
    return NodeRelease(node, record.name, taker, result, results)


_LATE = {gate.value: gate for gate in Gate} | {
    'owner_changed': Gate.RECORD_EXISTS,
    'instance_changed': Gate.NO_INSTANCE,
    'cell_instance': Gate.NO_INSTANCE,
    'released': Gate.NO_OPERATION_IN_PROGRESS,
}
"""Gates by the codes of what was found after they were evaluated."""


def _done(one: NodeRelease, objection: str | None) -> NodeRelease:
    if objection is None:
        return dataclasses.replace(one, result=Result.RELEASED)
    gate = _LATE[objection.partition(':')[0]]
    hint = release_gates.HINTS[gate].format(
        uuid=one.node.uuid, owner=one.node.source
    )
    late = GateResult(gate, Outcome.FAILED, objection, hint=hint)
    return dataclasses.replace(
        one,
        result=Result.REFUSED,
        gates=tuple(late if g.gate is gate else g for g in one.gates),
    )
