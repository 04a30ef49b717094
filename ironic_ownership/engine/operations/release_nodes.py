"""Release free nodes, so that the policies decide about their owner again.

For nodes that left the scope of their service: without an operator a record
keeps its owner. The service continues to serve its other nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import NodeMove
from ironic_ownership.engine.gates import Item, Result, proposed
from ironic_ownership.engine.moves import gates, selection
from ironic_ownership.engine.moves.case import Case, Change
from ironic_ownership.engine.moves.handover import Releaser
from ironic_ownership.engine.moves.selection import Selection

LOG = log.getLogger(__name__)


RESULTS = (
    *(Result.WOULD_RELEASE, Result.RELEASED, Result.UNCHANGED, Result.REFUSED),
)
"""The results for one node."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeRelease(Item):
    """One node to release, with the result of every gate.

    :param node: as it was seen; its source is the owner.
    :param next_owner: the service that claims it, as far as that is known.
    """

    node: NodeMove
    name: str | None = None
    next_owner: str | None = None
    case: Case


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
        change = Change(None, read.snapshot, releaser.ports.interpret)
        return [_proposed(Case(change, uuid)) for uuid in read.uuids]

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


def _proposed(case: Case) -> NodeRelease:
    if case.record is None:
        missing = gates.RECORD_EXISTS
        return NodeRelease(
            result=Result.REFUSED,
            gates=(missing.result(case, missing.check(case)),),
            node=NodeMove(case.uuid, None),
            case=case,
        )
    row = case.snapshot.services.get(case.source or '')
    node = NodeMove(case.uuid, case.source, row.epoch if row else None)
    try:
        taker = gates.next_owner(case)
    except exceptions.OwnershipError:
        taker = None
    results = gates.evaluate(case) if case.source else ()
    result = proposed(results, Result.WOULD_RELEASE)
    return NodeRelease(
        result=result if case.source else Result.UNCHANGED,
        gates=results,
        node=node,
        name=case.record.name,
        next_owner=taker,
        case=case,
    )


_LATE = {gate.code: gate for gate in gates.RELEASE} | {
    'owner_changed': gates.RECORD_EXISTS,
    'instance_changed': gates.NO_INSTANCE,
    'cell_instance': gates.NO_INSTANCE,
    'released': gates.NO_OPERATION,
}
"""Gates by the codes of what was found after they were evaluated."""


def _done(one: NodeRelease, objection: str | None) -> NodeRelease:
    if objection is None:
        return dataclasses.replace(one, result=Result.RELEASED)
    gate = _LATE[objection.partition(':')[0]]
    return one.refused_by(gate.result(one.case, objection))
