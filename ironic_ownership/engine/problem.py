"""What a check finds, and what it finds it in."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Sequence

from ironic_ownership.contracts import model
from ironic_ownership.engine import overview, policy_set, roster, survey


class Severity(enum.StrEnum):
    """How bad a problem is."""

    ERROR = 'error'
    """Nodes are not served, or may not be, until an operator acts."""

    WARNING = 'warning'
    """It may pass by itself, or may become an error."""

    UNKNOWN = 'unknown'
    """It could not be judged."""


class Kind(enum.StrEnum):
    """What the subjects of a problem are."""

    NODE = 'node'
    SERVICE = 'service'
    SHARD = 'shard'
    CONDUCTOR_GROUP = 'conductor_group'
    PART = 'part'


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be.

    :param code: stable, for scripts and alert rules.
    :param what: one phrase for people.
    :param subjects: uuids, hosts or names, all of them, in order.
    :param services: hosts that it is about, besides the subjects.
    :param hint: what the operator can do.
    """

    code: str
    severity: Severity
    what: str
    kind: Kind
    subjects: tuple[str, ...]
    services: tuple[str, ...] = ()
    hint: str = ''


@dataclasses.dataclass(frozen=True)
class Facts:
    """The deployment, and what follows from it.

    Each of these is asked for only by a check that declared to need it.
    """

    seen: overview.Overview
    interpret: policy_set.Interpreter

    @property
    def nodes(self) -> overview.Nodes:
        """What Ironic has."""
        assert self.seen.nodes is not None
        return self.seen.nodes

    @property
    def records(self) -> Sequence[model.ComputeNode]:
        """All compute nodes on record."""
        assert self.seen.records is not None
        return self.seen.records

    @property
    def view(self) -> model.View:
        """The members."""
        assert self.seen.view is not None
        return self.seen.view

    @functools.cached_property
    def services(self) -> dict[str, model.Service]:
        """The rows of the services, by host."""
        assert self.seen.services is not None
        return {row.host: row for row in self.seen.services}

    @functools.cached_property
    def roster(self) -> roster.Roster:
        """Who may own nodes; as if nobody were disabled, without rows."""
        return roster.Roster.of(
            self.view, self.seen.services or (), self.interpret
        )

    @functools.cached_property
    def findings(self) -> Sequence[survey.Finding]:
        """Every node that Ironic has, judged."""
        found = survey.survey(self.nodes.listed, self.records, self.roster)
        return [f for f in found if f.node is not None]


_NAMED = 5


def listed(names: Sequence[str]) -> str:
    """Return names in one phrase: the first few, and how many more."""
    more = len(names) - _NAMED
    shown = ', '.join(names[:_NAMED])
    return f'{shown} and {more} more' if more > 0 else shown
