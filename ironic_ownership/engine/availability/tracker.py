"""Availability of the own nodes, evaluated in every refresh.

Reads the conductors of Ironic once in a refresh, regardless of the number of
nodes. If that fails, the refresh goes on: a node keeps the availability that
cannot be evaluated without conductors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import bare_metal, model
from ironic_ownership.contracts.records import Change, Claim, Update
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.membership import fence


@dataclasses.dataclass(eq=False)
class AvailabilityTracker:
    """Evaluates nodes for one service.

    Threading: the refresh thread only.

    :ivar conductors: at the last observation; ``None`` if not known.
    """

    ironic: bare_metal.BareMetal
    conditions: Conditions
    damper: evaluation.FlapDamper
    clock: fence.Clock = fence.monotonic
    conductors: evaluation.Conductors | None = None

    def __post_init__(self) -> None:
        self._evaluated_with: evaluation.Conductors | None = None

    def observe(self, *, any_nodes: bool) -> bool:
        """Read the conductors, if there are any nodes.

        :returns: whether only nodes that are described differently, or have
            another record, since the last observation can be evaluated
            differently.
        """
        self.conductors = self._read() if any_nodes else None
        self.damper.observe(self.conductors, self.clock())
        last, self._evaluated_with = self._evaluated_with, self.conductors
        return (
            self.conductors is not None
            and self.conductors == last
            and self.damper.is_settled
        )

    def complete(
        self,
        host: str,
        changes: Sequence[Change],
        nodes: Sequence[model.Node],
        records: Mapping[str, model.ComputeNode],
    ) -> list[Change]:
        """Add availability to planned changes, by the last observation.

        :param changes: the planned changes; a node that is claimed or
            updated anyway costs no further write.
        :param nodes: those of the changes, and others to evaluate.
        :returns: these changes, and an update of every other own node whose
            availability differs from the record.
        """
        planned = {change.uuid: change for change in changes}
        completed: list[Change] = [
            change
            for change in changes
            if not isinstance(change, Claim | Update)
        ]
        for node in nodes:
            record, change = records.get(node.uuid), planned.get(node.uuid)
            before = record.unavailable if record else None
            if isinstance(change, Claim | Update):
                found = self.damper.evaluate(node, before)
                completed.append(
                    dataclasses.replace(change, availability=found)
                )
            elif change is None and record is not None and record.host == host:
                found = self.damper.evaluate(node, before)
                if found.code != before:
                    completed.append(Update(node, found))
        return completed

    def _read(self) -> evaluation.Conductors | None:
        known = evaluation.read_conductors(self.ironic)
        found = known.conductors
        if found is None:
            self.conditions.report(
                'conductors',
                f'conductors cannot be read: {known.error}. Until then no '
                'node goes out of service or comes back',
                known.error,
            )
            return None
        self.conditions.clear('conductors', 'conductors are readable again')
        if found.all_gone:
            self.conditions.report(
                'no conductor',
                'none of the conductors of Ironic is alive: no node can be '
                + (
                    'managed. No node goes out of service because of that'
                    if found.ignores_outage
                    else 'managed, all nodes go out of service'
                ),
            )
        else:
            self.conditions.clear('no conductor', 'a conductor is alive again')
        return found
