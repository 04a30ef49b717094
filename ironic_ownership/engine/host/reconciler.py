"""Reconcile the records with the decisions: the pipeline of every round.

A refresh and a take-over read different nodes, and share what follows: peer
groups, decisions, plan, handover limit, and short transactions that name the
epoch of this service and the owner that it saw. For a refresh, the planner
chooses what has to be decided, some nodes at a time.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import (
    UNLIMITED,
    Budget,
    Change,
    Release,
    hands_over,
)
from ironic_ownership.engine.availability import AvailabilityTracker
from ironic_ownership.engine.decision import peer_groups, policy_set
from ironic_ownership.engine.decision.decide import decide
from ironic_ownership.engine.decision.peer_groups import (
    PeerGroups,
    why_unreadable,
)
from ironic_ownership.engine.host import reconcile_plan
from ironic_ownership.engine.host.feed import Feed
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.reconcile_plan import Plan
from ironic_ownership.engine.host.snapshot import Snapshot
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
    :param refused: number of changes that lost a race; the next refresh
        decides again.
    :param limited: whether the handover limit left changes for later.
    :param paused: nodes that keep their owner until a pause ends.
    :param delayed: nodes that keep their owner until the budget allows more.
    :param retry_in: seconds until its rate allows another one.
    :param taken_over: number of nodes, by the service that died.
    :param left: uuids of the refused, paused and delayed ones.
    """

    done: collections.Counter[type[Change]] = dataclasses.field(
        default_factory=collections.Counter
    )
    handed_over: int = 0
    refused: int = 0
    limited: bool = False
    paused: int = 0
    delayed: int = 0
    retry_in: float = 0.0
    taken_over: collections.Counter[reconcile_plan.Death] = dataclasses.field(
        default_factory=collections.Counter
    )
    left: set[str] = dataclasses.field(default_factory=set)

    def last(self, before: frozenset[str]) -> frozenset[str]:
        """Return the nodes to hand over after all others in the next round.

        Those of earlier rounds stay among them until all others had their
        turn: the same ones, which a pause holds, could fill each round.

        :param before: those of this round.
        """
        left = frozenset(self.left)
        return left | before if self.limited and left - before else left


@dataclasses.dataclass(eq=False)
class Reconciler:
    """Decides, plans and writes for one service.

    Threading: any thread.

    :ivar handover_limit: nodes that may change owner in one round.
    :ivar budget: of automatic changes of owner in the deployment.
    :param feed: receives what was written.
    :ivar unregistered: members that may register at any time.
    :ivar tolerated: number of faults of other services' policies so far.
    """

    context: ServiceContext
    operator_log: OperatorLog
    handover_limit: int
    feed: Feed
    budget: Budget = UNLIMITED
    tolerated: int = 0

    def __post_init__(self) -> None:
        self.unregistered = UnregisteredMembers(
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
            self.unregistered.overdue(services, view) - {self.context.host},
        )

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
        return reconcile_plan.Basis(
            self.context.host,
            records,
            services,
            peer_groups,
            liveness.without(peer_groups.overdue),
        ).plan(
            [n for n in nodes if n.uuid in only] if only else nodes,
            decide(nodes, records, peer_groups),
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
        fence, records = self.context.fence, self.context.ports.records
        fence.settle_releases(
            lambda: records.settle(self.context.host, fence.epoch())
        )
        remaining = iter(allowed)
        while batch := list(itertools.islice(remaining, BATCH)):
            token = self.feed.read_token()
            # Their next owner may act as soon as that is written.
            leaving = [c.uuid for c in batch if isinstance(c, Release)]
            with fence.releasing(leaving):
                outcome = records.apply(
                    self.context.host,
                    fence.epoch(),
                    batch,
                    # Before the commit as well: the database may have
                    # delayed the transaction until after the lease.
                    confirm=fence.epoch,
                    budget=self.budget,
                )
            self.feed.written(token, outcome.applied)
            written.done.update(map(type, outcome.applied))
            written.refused += len(outcome.refused)
            written.paused += len(outcome.paused)
            written.delayed += len(outcome.delayed)
            left = (outcome.refused, outcome.paused, outcome.delayed)
            written.left |= {c.uuid for c in itertools.chain(*left)}
            if outcome.delayed:
                written.retry_in = outcome.retry_in
            self.operator_log.applied(outcome)
            written.taken_over += reconcile_plan.taken_over(
                self.context.host, outcome
            )
        return written


@dataclasses.dataclass(eq=False)
class Planner:
    """Plans the changes of one service.

    Threading: the refresh thread only.

    :ivar policies: the own ones, when they could be built last.
    :ivar groups: the peer groups of the last plan.
    :ivar liveness: with which it was made.
    :ivar decided: all of the last plan, but for its changes.
    """

    reconciler: Reconciler
    current: Callable[[], Liveness]
    availability: AvailabilityTracker

    def __post_init__(self) -> None:
        self._host = self.reconciler.context.host
        self._interpret = self.reconciler.context.ports.interpret
        self.policies = policy_set.PolicySet()
        self.liveness = self.current()
        self.groups = PeerGroups((), frozenset(), {})
        self.decided = Plan()
        self._last: tuple[tuple[object, ...], Plan] | None = None

    def clear(self) -> None:
        """Decide all nodes the next time."""
        self._last = None

    def keep(self, seen: Snapshot) -> None:
        """Decide only what is affected the next time.

        A plan that waits for something is made again from all nodes.

        :param seen: from which the last plan was made; all of its changes
            were written. The next snapshot tells what changed since.
        """
        plan = self.decided
        waits = plan.suspects or plan.waiting or plan.deferred
        self._last = None if waits else (self._shared(seen), plan)

    def plans(
        self, seen: Snapshot, last: Collection[str] = ()
    ) -> Iterator[Plan]:
        """Decide nodes, and yield at least one plan.

        Each is made when it is asked for, so that the changes of the one
        before can be written, and forgotten.

        :param last: uuids of nodes to decide after all others.
        :raises PluginFaultError: if a policy of this service fails.
        """
        self.groups = self.reconciler.peer_groups(seen.services, seen.view)
        self._check_own_policies(seen.view)
        self.policies = self.groups.policies.get(self._host) or self.policies
        self.reconciler.operator_log.decides_with(self.groups)
        self.liveness = self.current()
        affected = self._affected(seen)
        visited: Collection[str] = seen.nodes
        is_steady = self.availability.observe(any_nodes=bool(seen.nodes))
        if is_steady and affected is not None:
            visited = dict.fromkeys(sorted(affected))
        ordered = [uuid for uuid in visited if uuid not in last]
        ordered += sorted(uuid for uuid in last if uuid in visited)
        size = peer_groups.BATCH if self.groups.divisible else len(ordered)
        decided = self.decided = Plan()
        # At least one, if there is no node at all.
        for first in range(0, len(ordered) or 1, size or 1):
            some = [seen.nodes[u] for u in ordered[first : first + size]]
            chosen = some
            if affected is not None:
                chosen = [node for node in some if node.uuid in affected]
            plan = self.reconciler.plan(
                *(chosen, seen.records, seen.services),
                *(self.groups, self.liveness),
            )
            plan.changes = self.availability.complete(
                self._host, plan.changes, some, seen.records
            )
            decided.add(plan)
            yield plan
        if affected is not None:
            self.decided = self._merged(seen, affected, decided)

    def _shared(self, seen: Snapshot) -> tuple[object, ...]:
        """Return all from which decisions follow, but for node and record."""
        # Policies that could not be built may be later, from the same
        # settings.
        found = self.groups.policies.items()
        readable = {host for host, policies in found if policies is not None}
        return seen.services, seen.view, self.liveness, readable

    def _affected(self, seen: Snapshot) -> Set[str] | None:
        """Return the nodes to decide again; ``None`` for all of them.

        A decision follows from the node, its record, and what all nodes
        share. While that is the same, and the policies decide node by node,
        only nodes that are described differently, or have another record,
        can get another decision.
        """
        if (
            seen.changed is None
            or self._last is None
            or self._last[0] != self._shared(seen)
            or not self.groups.node_by_node
        ):
            return None
        return {uuid for uuid in seen.changed if uuid in seen.nodes}

    def _merged(
        self, seen: Snapshot, affected: Collection[str], plan: Plan
    ) -> Plan:
        """Return the plan for all nodes, of which only some were decided.

        :param plan: for the affected nodes.
        """
        last = self._last[1] if self._last else Plan()

        def kept(uuids: Iterable[str]) -> list[str]:
            return [u for u in uuids if u not in affected and u in seen.nodes]

        # It waited for nothing, or it would not be there.
        merged = Plan(
            contested={u: last.contested[u] for u in kept(last.contested)},
            filtered=kept(last.filtered),
        )
        for host, uuids in last.withheld.items():
            if still := kept(uuids):
                merged.withheld[host] = still
        merged.add(plan)
        return merged

    def _check_own_policies(self, view: model.View) -> None:
        host = self._host
        own = view.get(host)
        if own is None or self.groups.policies.get(host) is not None:
            return
        reason = why_unreadable(own.settings, self._interpret)
        whose = self.policies.origins_in(reason)
        raise exceptions.PluginFaultError(
            f'{host} can no longer build its own policies: {reason}'
            f'{f" ({whose})" if whose else ""}',
            hint='Repair that package, and start the service again',
        )
