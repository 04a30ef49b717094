"""Reconcile the records with the decisions: the pipeline of every round.

A refresh and a take-over read different nodes, and share what follows: peer
groups, decisions, plan, handover limit, and short transactions that name the
epoch of this service and the owner that it saw.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
from collections.abc import Collection, Container, Mapping, Sequence

from ironic_ownership.contracts import bare_metal, exceptions, model
from ironic_ownership.contracts.records import (
    UNLIMITED,
    Budget,
    Change,
    Release,
    Update,
    hands_over,
)
from ironic_ownership.engine.decision.decide import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.host import reconcile_plan
from ironic_ownership.engine.host.feed import Feed
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.membership.failure_detector import (
    Liveness,
    UnregisteredMembers,
)
from ironic_ownership.engine.membership.service_context import ServiceContext

BATCH = 500
"""Changes in one transaction: short enough that others get their turn."""


@dataclasses.dataclass
class Written:
    """The result of writing changes.

    :param done: number of changes that were made, by their class.
    :param handed_over: number of nodes that may change owner by them.
    :param refused: changes that lost a race.
    :param limited: whether the handover limit left changes for later.
    :param paused: changes of owner that wait for the end of a pause.
    :param delayed: those that wait for the budget.
    :param retry_in: seconds until its rate allows another one.
    :param taken_over: number of nodes, by the service that died.
    """

    done: collections.Counter[type[Change]] = dataclasses.field(
        default_factory=collections.Counter
    )
    handed_over: int = 0
    refused: list[Change] = dataclasses.field(default_factory=list)
    limited: bool = False
    paused: list[Change] = dataclasses.field(default_factory=list)
    delayed: list[Change] = dataclasses.field(default_factory=list)
    retry_in: float = 0.0
    taken_over: collections.Counter[reconcile_plan.Death] = dataclasses.field(
        default_factory=collections.Counter
    )

    @property
    def left(self) -> list[Change]:
        """The changes that were not made, and are decided again."""
        return [*self.refused, *self.paused, *self.delayed]

    def last(self, before: frozenset[str]) -> frozenset[str]:
        """Return the nodes to hand over after all others in the next round.

        Those of earlier rounds stay among them until all others had their
        turn: the same ones, which a pause holds, could fill each round.

        :param before: those of this round.
        """
        left = frozenset(change.uuid for change in self.left)
        return left | before if self.limited and left - before else left


@dataclasses.dataclass(eq=False)
class Reconciler:
    """Decides, plans and writes for one service.

    Threading: any thread.

    :ivar handover_limit: nodes that may change owner in one round.
    :ivar budget: of automatic changes of owner in the deployment.
    :param feed: receives what was written.
    :ivar tolerated: number of faults of other services' policies so far.
    """

    context: ServiceContext
    operator_log: OperatorLog
    handover_limit: int
    feed: Feed
    budget: Budget = UNLIMITED
    tolerated: int = 0

    def __post_init__(self) -> None:
        self._unregistered = UnregisteredMembers(
            # A new process settles for one member_ttl, and then registers.
            2 * self.context.ports.backend.member_ttl,
            self.context.clock,
        )

    def peer_groups(
        self, services: Mapping[str, model.Service], view: model.View
    ) -> PeerGroups:
        """Group the services of a snapshot.

        :raises PluginFaultError: if a policy of this service fails.
        """
        return PeerGroups.of(
            view,
            services.values(),
            self.context.ports.interpret,
            self._tolerate,
            self._unregistered.overdue(services, view) - {self.context.host},
        )

    @property
    def awaits_registration(self) -> bool:
        """True if a member of the last groups may register at any time."""
        return self._unregistered.awaited

    def _tolerate(
        self, hosts: Collection[str], error: exceptions.PluginFaultError
    ) -> None:
        """Go on without the nodes of others whose policies fail here.

        :raises PluginFaultError: if they are policies of this service.
        """
        if self.context.host in hosts:
            raise error
        self.tolerated += 1
        self.operator_log.fails_for_others(hosts, error)

    def plan(
        self,
        nodes: Sequence[model.Node],
        records: Mapping[str, model.ComputeNode],
        services: Mapping[str, model.Service],
        peer_groups: PeerGroups,
        liveness: Liveness,
        only: Container[str] | None = None,
    ) -> reconcile_plan.Plan:
        """Decide nodes, and plan the changes.

        :param records: at least those of the nodes, by uuid.
        :param only: uuids of the nodes to plan for; all by default.
        :raises PluginFaultError: if a policy of this service fails.
        """
        return reconcile_plan.build(
            self.context.host,
            [n for n in nodes if n.uuid in only] if only else nodes,
            decide(nodes, records, peer_groups),
            records,
            services,
            peer_groups,
            liveness.without(peer_groups.overdue),
        )

    def write(
        self,
        changes: Sequence[Change],
        last: Collection[str] = (),
        written: Written | None = None,
    ) -> Written:
        """Write as many changes as the handover limit allows, in batches.

        :param last: uuids of nodes to hand over after all others.
        :param written: by earlier calls of the round, to which this is
            added.
        :raises FencedError: if this service lost its write lease; earlier
            batches stay written.
        :raises RecordsError: if the records do not answer.
        """
        written = written or Written()
        limit = self.handover_limit - written.handed_over
        allowed = reconcile_plan.limited(changes, limit, last)
        written.limited |= len(allowed) < len(changes)
        written.handed_over += sum(map(hands_over, allowed))
        fence = self.context.fence
        remaining = iter(allowed)
        while batch := list(itertools.islice(remaining, BATCH)):
            token = self.feed.read_token()
            outcome = self.context.ports.records.apply(
                self.context.host,
                fence.epoch(),
                batch,
                # Before the commit as well: the database may have delayed
                # the transaction until after the lease.
                confirm=fence.epoch,
                budget=self.budget,
            )
            self.feed.written(token, outcome.applied)
            written.done.update(map(type, outcome.applied))
            written.refused.extend(outcome.refused)
            written.paused.extend(outcome.paused)
            written.delayed.extend(outcome.delayed)
            if outcome.delayed:
                written.retry_in = outcome.retry_in
            self.operator_log.applied(outcome)
            written.taken_over += reconcile_plan.taken_over(
                self.context.host, outcome
            )
        return written


@dataclasses.dataclass(eq=False)
class ReleaseCheck:
    """Reads instances again before the free nodes of a round are released.

    The nodes of a decision were listed up to minutes ago. One that has an
    instance by now stays with its service, which is the only one that may
    have created it.

    :param listed: nodes in the scope, as listed for the decision.
    :param others: own nodes outside of the scope, as looked up.
    """

    listed: Mapping[str, model.Node]
    others: Collection[model.Node]
    scope: model.Scope
    ironic: bare_metal.BareMetal

    def confirm(self, changes: Sequence[Change]) -> list[Change]:
        """Replace releases of nodes that have an instance by updates.

        Costs nothing without a release; otherwise one list of the nodes with
        an instance in a round, and one request for each released node outside
        of the scope.

        :raises IronicError: if Ironic does not answer; nothing may be
            released.
        """
        released = {c.uuid for c in changes if isinstance(c, Release)}
        if not released:
            return list(changes)
        found: dict[str, model.Node | None] = {
            node.uuid: self.ironic.get(node.uuid)
            for node in self.others
            if node.uuid in released
        }
        for uuid in released - found.keys():
            node = self.listed.get(uuid)
            if node is not None:
                found[uuid] = dataclasses.replace(
                    node, instance_uuid=self._instances.get(uuid)
                )
        return [
            confirmed
            for change in changes
            if (confirmed := _confirmed(change, found)) is not None
        ]

    @functools.cached_property
    def _instances(self) -> Mapping[str, str]:
        return self.ironic.instances(self.scope)


def _confirmed(
    change: Change, found: dict[str, model.Node | None]
) -> Change | None:
    if not isinstance(change, Release):
        return change
    node = found.get(change.uuid)
    if node is None:
        return None  # gone meanwhile: for the next refresh
    return Update(node) if node.instance_uuid else change
