"""What a refresh leaves behind for those who tell others of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from ironic_ownership.contracts import model
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.decision import policy_set


@dataclasses.dataclass(frozen=True)
class RefreshResult:
    """One refresh whose changes are written.

    :param nodes: all that were listed, and own ones outside of the scope.
    :param policies: those by which the service decides.
    :param fleet: who works on nodes; ``None`` if that is not known.
    """

    nodes: Sequence[model.Node]
    policies: policy_set.PolicySet = dataclasses.field(
        default_factory=policy_set.PolicySet
    )
    fleet: evaluation.Fleet | None = None


@dataclasses.dataclass(frozen=True)
class Scan:
    """The nodes that a refresh listed.

    :param began: when, on the monotonic clock.
    """

    scope: model.Scope
    nodes: Sequence[model.Node]
    began: float


class Reporter(Protocol):
    """Who is told of refreshes; no refresh waits for it."""

    def refreshed(self, seen: RefreshResult) -> None:
        """Take what a refresh saw; return at once."""

    def withdraw(self, uuid: str) -> None:
        """Tell nothing more of a node, whose provider is to be deleted."""
