"""Reconcile the records with the decisions: the pipeline of every round.

A refresh and a take-over read different nodes, and share what follows: peer
groups, decisions, plan, handover limit, and short transactions that name the
epoch of this service and the owner that it saw.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Container, Sequence

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Change
from ironic_ownership.engine.decision.decide import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.host import reconcile_plan
from ironic_ownership.engine.host.feed import Feed
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.snapshot import Snapshot
from ironic_ownership.engine.membership.failure_detector import Liveness
from ironic_ownership.engine.membership.service_context import ServiceContext

BATCH = 500
"""Changes in one transaction: short enough that others get their turn."""


@dataclasses.dataclass
class Written:
    """The result of writing changes.

    :param applied: number of changes.
    :param refused: changes that lost a race.
    :param limited: whether the handover limit left changes for later.
    """

    applied: int = 0
    refused: list[Change] = dataclasses.field(default_factory=list)
    limited: bool = False


@dataclasses.dataclass(eq=False)
class Reconciler:
    """Decides, plans and writes for one service.

    Threading: any thread.

    :ivar handover_limit: nodes that may change owner in one round.
    :param feed: receives what was written.
    """

    context: ServiceContext
    operator_log: OperatorLog
    handover_limit: int
    feed: Feed

    def peer_groups(self, seen: Snapshot) -> PeerGroups:
        """Group the services of a snapshot.

        :raises PluginFaultError: if a policy of this service fails.
        """
        return PeerGroups.of(
            seen.view,
            seen.services.values(),
            self.context.ports.interpret,
            self._tolerate,
        )

    def _tolerate(
        self, hosts: Collection[str], error: exceptions.PluginFaultError
    ) -> None:
        """Go on without the nodes of others whose policies fail here.

        :raises PluginFaultError: if they are policies of this service.
        """
        if self.context.host in hosts:
            raise error
        self.operator_log.fails_for_others(hosts, error)

    def plan(
        self,
        seen: Snapshot,
        peer_groups: PeerGroups,
        liveness: Liveness,
        only: Container[str] | None = None,
    ) -> reconcile_plan.Plan:
        """Decide all nodes of a snapshot, and plan the changes.

        :param only: uuids of the nodes to plan for; all by default.
        :raises PluginFaultError: if a policy of this service fails.
        """
        return reconcile_plan.build(
            self.context.host,
            [n for n in seen.nodes if only is None or n.uuid in only],
            decide(seen.nodes, seen.records, peer_groups),
            seen.records,
            seen.services,
            peer_groups,
            liveness,
        )

    def write(
        self, changes: Sequence[Change], last: Collection[str] = ()
    ) -> Written:
        """Write as many changes as the handover limit allows, in batches.

        :param last: uuids of nodes to hand over after all others.
        :raises FencedError: if this service lost its write lease; earlier
            batches stay written.
        :raises RecordsError: if the records do not answer.
        """
        allowed = reconcile_plan.limited(changes, self.handover_limit, last)
        written = Written(limited=len(allowed) < len(changes))
        fence = self.context.fence
        remaining = iter(allowed)
        while batch := list(itertools.islice(remaining, BATCH)):
            # Confirmed before the commit as well: the database may have
            # delayed the transaction until after the lease.
            mark = self.feed.mark()
            outcome = self.context.ports.records.apply(
                self.context.host,
                fence.epoch(),
                batch,
                confirm=fence.epoch,
            )
            self.feed.written(mark, outcome.applied)
            written.applied += len(outcome.applied)
            written.refused.extend(outcome.refused)
            self.operator_log.applied(outcome)
        return written
