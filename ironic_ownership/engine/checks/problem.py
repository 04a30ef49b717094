"""What a check finds, and what it finds it in."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.queries import deployment_snapshot, node_status


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
    CONDUCTOR = 'conductor'
    RESERVATION = 'reservation'
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

    :param reporting: whether the configuration here has inventories
        reported to Placement.
    """

    seen: deployment_snapshot.Overview
    interpret: policy_set.Interpreter
    reporting: bool = False

    @property
    def nodes(self) -> deployment_snapshot.Nodes:
        """What Ironic has."""
        assert self.seen.nodes is not None
        return self.seen.nodes

    @property
    def fleet(self) -> evaluation.Fleet | None:
        """Who works on nodes; ``None`` if Ironic does not show that."""
        return self.nodes.fleet

    @property
    def records(self) -> Sequence[model.ComputeNode]:
        """All compute nodes on record."""
        assert self.seen.records is not None
        return self.seen.records

    @functools.cached_property
    def reports(self) -> bool:
        """Whether nodes are reported to Placement, here or anywhere."""
        return self.reporting or any(
            record.placement_digest is not None for record in self.records
        )

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
    def peer_groups(self) -> PeerGroups:
        """Who may own nodes; as if nobody were disabled, without rows."""
        return PeerGroups.of(
            self.view, self.seen.services or (), self.interpret
        )

    @property
    def findings(self) -> Sequence[node_status.Finding]:
        """Every node that Ironic has, judged.

        :raises PluginFaultError: if a policy fails; it is asked once.
        """
        if isinstance(self._findings, exceptions.PluginFaultError):
            raise self._findings
        return self._findings

    @functools.cached_property
    def _findings(
        self,
    ) -> Sequence[node_status.Finding] | exceptions.PluginFaultError:
        try:
            found = node_status.survey(
                self.nodes.listed, self.records, self.peer_groups, self.fleet
            )
        except exceptions.PluginFaultError as exc:
            return exc
        return [f for f in found if f.node is not None]
