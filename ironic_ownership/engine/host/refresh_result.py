"""The result of a refresh: counts, nodes, and the report to other parts.

What follows from the counts is a matter of the refresh loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Protocol

from ironic_ownership.contracts import model
from ironic_ownership.engine import availability
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host import fleet_reader
from ironic_ownership.engine.host.reconciler import Written


@dataclasses.dataclass
class Summary(Written):
    """Counts of one refresh, and what it waits for.

    :param nodes: nodes in scope.
    :param is_whole: whether Ironic listed all of them for this refresh.
    :param owned: nodes on record with this service before.
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
    :param wait: seconds until the budget has allowed all delayed changes, at
        least.
    :param pending: own missing nodes that were not looked up yet.
    :param list_again: whether the next refresh is to list all nodes: own
        ones seem to be gone.
    """

    nodes: int = 0
    owned: int = 0
    waiting: int = 0
    owners: Mapping[str, int] = dataclasses.field(default_factory=dict)
    deferred: int = 0
    suspects: frozenset[str] = frozenset()
    flapping: bool = False
    registering: bool = False
    away: frozenset[str] = frozenset()
    wait: float = 0.0
    pending: int = 0
    mass_loss: bool = False
    list_again: bool = False
    is_whole: bool = False

    @property
    def applied(self) -> int:
        """Number of changes that were made."""
        return self.done.total()


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
