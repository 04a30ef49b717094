"""The plan of a move: what is to become of each node, and why.

Pure: all that was read is a :class:`move_gates.Moment`.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts.moves import NodeMove, NodeState
from ironic_ownership.engine.moves.gates import Failure, Gate, Gates, Moment

PLANNED = NodeState.PLANNED
UNCHANGED, REFUSED = NodeState.UNCHANGED, NodeState.REFUSED


@dataclasses.dataclass(frozen=True)
class Order:
    """What an operator asks for.

    :param destination: canonical name of the service that gets the nodes.
    """

    request_id: str
    destination: str
    actor: str
    reason: str | None = None
    overrides: frozenset[Gate] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedNode:
    """One node of a plan, and the gates that it does not pass.

    :param judged: whether the gates were judged: not for nodes that the
        destination owns already.
    """

    node: NodeMove
    name: str | None = None
    failures: tuple[Failure, ...] = ()
    judged: bool = True

    def gates(self, *, every: bool) -> list[dict[str, str]]:
        """Return the gates with their results, as they are shown.

        :param every: all of them, or only those that failed.
        """
        if not self.judged:
            return []
        failed = {failure.gate: failure for failure in self.failures}
        return [
            _gate(gate, failed.get(gate))
            for gate in Gate
            if every or gate in failed
        ]


def _gate(gate: Gate, failure: Failure | None) -> dict[str, str]:
    if failure is None:
        return {'gate': gate.value, 'result': 'passed'}
    return {
        'gate': gate.value,
        'result': 'overridden' if failure.overridden else 'failed',
        'detail': failure.detail,
    }


@dataclasses.dataclass(frozen=True)
class Plan:
    """A move that is not carried out yet."""

    order: Order
    nodes: Sequence[PlannedNode]

    def count(self, state: NodeState) -> int:
        """Return the number of nodes in a state."""
        return sum(n.node.state is state for n in self.nodes)

    @property
    def refused(self) -> Sequence[PlannedNode]:
        """The nodes that a gate refuses."""
        return [n for n in self.nodes if n.node.state is REFUSED]

    @property
    def all_refused(self) -> bool:
        """Whether a gate refuses every node."""
        return len(self.refused) == len(self.nodes)

    def summary(self) -> list[str]:
        """Return one sentence for each gate that refuses nodes."""
        first: dict[Gate, PlannedNode] = {}
        numbers: collections.Counter[Gate] = collections.Counter()
        for planned in self.refused:
            for failure in planned.failures:
                if not failure.overridden:
                    numbers[failure.gate] += 1
                    first.setdefault(failure.gate, planned)
        said = []
        for gate, number in sorted(numbers.items()):
            planned = first[gate]
            detail = next(f.detail for f in planned.failures if f.gate is gate)
            said.append(
                f'{gate}: {number} of {len(self.nodes)} nodes, such as '
                f'{planned.node.uuid}: {detail}'
            )
        return said


def plan_node(
    uuid: str,
    destination: str,
    moment: Moment,
    gates: Gates,
) -> PlannedNode:
    """Plan one node: judge its gates, unless it is where it shall go."""
    record = moment.records.get(uuid)
    if record is None:
        node = NodeMove(uuid, None)
    else:
        owner = moment.services.get(record.host or '')
        node = NodeMove(
            uuid,
            record.host,
            owner.epoch if owner else None,
            record.instance_uuid,
        )
    name = record.name if record else None
    if record is not None and record.host == destination:
        node = dataclasses.replace(node, state=UNCHANGED)
        return PlannedNode(node, name, judged=False)
    failures = gates.failures(uuid)
    blocking = [f for f in failures if not f.overridden]
    said = '; '.join(f'{f.gate}: {f.detail}' for f in blocking or failures)
    if blocking:
        node = dataclasses.replace(node, state=REFUSED, detail=said)
    elif failures:
        node = dataclasses.replace(node, detail=f'overridden: {said}')
    return PlannedNode(node, name, failures)


def as_planned_before(now: PlannedNode, before: NodeMove) -> PlannedNode:
    """Keep from whom a node was to be taken when its plan was made."""
    if now.node.state is REFUSED and now.node.source == before.source:
        return now
    return dataclasses.replace(
        now,
        node=dataclasses.replace(
            now.node, source=before.source, state=PLANNED
        ),
        failures=now.failures if now.node.source == before.source else (),
    )
