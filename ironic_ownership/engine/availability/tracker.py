"""Judge the own nodes in every refresh: which of them can be scheduled to.

Asks Ironic for its conductors, once a refresh however many nodes there are.
Whether they answer or not, the refresh goes on: a node that cannot be judged
by its conductors keeps what was judged before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import inventory, model
from ironic_ownership.contracts.records import Change, Claim, Update
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.membership import fence

RECOVERY_DELAY = 60.0
"""Seconds, unless something else is configured."""


class AvailabilityTracker:
    """Judges nodes for one service.

    Threading: the refresh thread only.

    :ivar recovery_delay: seconds for which a driver has to be served again
        before its nodes are back in service.
    :ivar fleet: who worked on nodes at the last look; ``None`` if that is
        not known.
    """

    def __init__(
        self,
        source: inventory.Inventory,
        conditions: Conditions,
        *,
        recovery_delay: float = RECOVERY_DELAY,
        clock: fence.Clock = fence.monotonic,
    ) -> None:
        self._source = source
        self._conditions = conditions
        self._clock = clock
        self._watch = evaluation.Watch(recovery_delay)
        self.fleet: evaluation.Fleet | None = None

    @property
    def recovery_delay(self) -> float:
        """Seconds for which a driver has to be served again."""
        return self._watch.recovery_delay

    @recovery_delay.setter
    def recovery_delay(self, seconds: float) -> None:
        self._watch.recovery_delay = seconds

    def complete(
        self,
        host: str,
        changes: Sequence[Change],
        nodes: Sequence[model.Node],
        records: Mapping[str, model.ComputeNode],
    ) -> list[Change]:
        """Add to what a service is about to change what it judges.

        :param changes: those that were planned; a node that is claimed or
            updated anyway costs nothing more.
        :param nodes: all that the plan was made for.
        :returns: these changes, and an update of every other own node whose
            verdict is another than that on record.
        """
        # Where there is nothing to judge, there is nothing to ask.
        self.fleet = self._fleet() if nodes else None
        self._watch.look(self.fleet, self._clock())
        planned = {change.uuid: change for change in changes}
        completed: list[Change] = [
            change for change in changes if not _describes(change)
        ]
        for node in nodes:
            record, change = records.get(node.uuid), planned.get(node.uuid)
            is_own = record is not None and record.host == host
            if not (_describes(change) or (change is None and is_own)):
                continue
            before = record.unavailable if record else None
            verdict = self._watch.judge(node, before)
            if isinstance(change, Claim | Update):
                completed.append(
                    dataclasses.replace(change, availability=verdict)
                )
            elif verdict.code != before:
                completed.append(Update(node, verdict))
        return completed

    def _fleet(self) -> evaluation.Fleet | None:
        known = conductors.ask(self._source)
        fleet = known.fleet
        if fleet is None:
            self._conditions.report(
                'conductors',
                f'Ironic does not tell its conductors: {known.error}. Nodes '
                'are neither taken out of service nor back until it does',
            )
            return None
        self._conditions.clear(
            'conductors', 'Ironic tells its conductors again'
        )
        if fleet.all_gone:
            self._conditions.report(
                'no conductor',
                'none of the conductors of Ironic is alive: nobody can work '
                'on any node. No node is taken out of service by that',
            )
        else:
            self._conditions.clear(
                'no conductor', 'a conductor is alive again'
            )
        return fleet


def _describes(change: Change | None) -> bool:
    """Tell whether a change writes what Ironic says of its node."""
    return isinstance(change, Claim | Update)
