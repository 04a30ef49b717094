"""The result of a refresh: counts, nodes, and the report to other parts.

When the next refresh is due is a matter of the refresh loop.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Protocol

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import (
    Budget,
    Change,
    Claim,
    Delete,
    Release,
    Update,
)
from ironic_ownership.contracts.texts import counted, listed
from ironic_ownership.engine import availability
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host import fleet_reader

_DONE: Mapping[type[Change], tuple[str, str]] = {
    Claim: ('claimed', 'node'),
    Release: ('released', 'node'),
    Update: ('updated', 'record'),
    Delete: ('deleted', 'record'),
}
_NAMED = 3  # owners in a sentence


@dataclasses.dataclass
class Summary:
    """Counts of one refresh, and what it waits for.

    :param nodes: nodes in scope.
    :param is_whole: whether Ironic listed all of them for this refresh.
    :param owned: nodes on record with this service before.
    :param done: number of changes that were made, by their class.
    :param refused: changes that lost a race; the next refresh decides again.
    :param waiting: nodes whose live owner has to release them first.
    :param owners: their number, by that owner.
    :param deferred: nodes that stay until suspected services are known to be
        alive or dead.
    :param suspects: those services.
    :param flapping: whether services, perhaps this one, were missing from
        the view for a moment only, so that no notification follows.
    :param registering: whether a member of no registered process may be one
        that is about to register, of which nothing notifies.
    :param away: services that are expected back.
    :param limited: whether the handover limit left changes for later.
    :param paused: nodes that keep their owner until a pause ends.
    :param delayed: nodes that keep their owner until the budget allows more.
    :param retry_in: seconds until its rate does.
    :param passed: nodes that may have changed owner.
    :param wait: seconds until it has allowed all of them, at least.
    :param pending: own missing nodes that were not looked up yet.
    :param list_again: whether the next refresh is to list all nodes: own
        ones seem to be gone.
    """

    nodes: int = 0
    owned: int = 0
    done: Counter[type[Change]] = dataclasses.field(default_factory=Counter)
    refused: int = 0
    waiting: int = 0
    owners: Mapping[str, int] = dataclasses.field(default_factory=dict)
    deferred: int = 0
    suspects: frozenset[str] = frozenset()
    flapping: bool = False
    registering: bool = False
    away: frozenset[str] = frozenset()
    limited: bool = False
    paused: int = 0
    delayed: int = 0
    retry_in: float = 0.0
    passed: int = 0
    wait: float = 0.0
    pending: int = 0
    mass_loss: bool = False
    list_again: bool = False
    is_whole: bool = False

    @property
    def applied(self) -> int:
        """Number of changes that were made."""
        return self.done.total()

    def wait_for(self, budget: Budget, interval: float) -> float:
        """Return the seconds until the budget has allowed all, at least.

        With a share, a release waits until others have an owner, which takes a
        refresh of these.

        :param interval: seconds between two refreshes.
        """
        if not self.delayed:
            return 0.0
        rounds = math.ceil(self.delayed / max(1, self.passed))
        of_share = rounds * interval if budget.share < 1 else 0.0
        of_rate = 60 * self.delayed / budget.rate if budget.rate else 0.0
        return max(of_share, of_rate, self.retry_in)

    @property
    def is_unfinished(self) -> bool:
        """True if another refresh soon is likely to change something."""
        return bool(
            self.waiting
            or self.refused
            or self.pending
            or self.flapping
            or self.registering
            or self.list_again
        )

    def sentence(self) -> str:
        """Say for operators what it did, and what waits for whom."""
        waits = list(self._waits())
        did = ', '.join(
            f'{verb} {counted(self.done[kind], noun)}'
            for kind, (verb, noun) in _DONE.items()
            if self.done[kind]
        )
        if not did:
            did = 'changed nothing' if waits else 'nothing to change'
            did += f'; owns {counted(self.owned, "node")}'
        return '; '.join([did, *waits])

    def _waits(self) -> Iterator[str]:
        owners = sorted(self.owners.items(), key=lambda one: (-one[1], one[0]))
        named, others = owners[:_NAMED], owners[_NAMED:]
        suspects = listed(sorted(self.suspects)) or 'their owners'
        minutes = counted(math.ceil(self.wait / 60), 'minute')
        for number, reason in (
            *((n, f'for release by {host}') for host, n in named),
            (sum(n for _, n in others), 'for release by other services'),
            (self.deferred, f'because {suspects} may be dead or alive'),
            (self.pending, 'to be read from Ironic'),
            (self.refused, 'for the next refresh: other changes came first'),
            (self.paused, 'for the end of a pause'),
            (self.delayed, f'for the budget (at least {minutes})'),
        ):
            if number:
                verb = 'waits' if number == 1 else 'wait'
                yield f'{counted(number, "node")} {verb} {reason}'
        if self.limited:
            yield 'more wait for the next round (handover_limit)'
        if self.mass_loss:
            yield 'deletes nothing: too many nodes are missing'


@dataclasses.dataclass(frozen=True)
class RefreshResult:
    """One refresh whose changes are written.

    :param nodes: all listed nodes, and own nodes outside of the scope, by
        uuid.
    :param policies: the policies of this service.
    :param conductors: ``None`` if they are not known.
    """

    nodes: Mapping[str, model.Node]
    policies: policy_set.PolicySet = dataclasses.field(
        default_factory=policy_set.PolicySet
    )
    conductors: availability.Conductors | None = None


@dataclasses.dataclass(frozen=True)
class Scan:
    """The nodes that a refresh listed, by uuid.

    :param ended: monotonic time of its end, in seconds.
    :param baseline: from which later changes can be read, if they can.
    """

    scope: model.Scope
    nodes: Mapping[str, model.Node]
    ended: float
    baseline: fleet_reader.Baseline | None = None


class Reporter(Protocol):
    """Receives the results of refreshes; no refresh waits for it."""

    def refreshed(self, seen: RefreshResult) -> None:
        """Take the result of a refresh; return immediately."""

    def withdraw(self, uuid: str) -> None:
        """Stop reporting a node whose provider is to be deleted."""
