"""Problems that checks find, and the facts that they evaluate."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
    Set,
)
from typing import NamedTuple

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.availability import Unavailable
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.contracts.decision import Decision
from ironic_ownership.contracts.described import DescribedEnum
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.checks import placement_gaps
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.queries import deployment_snapshot, node_status


class Severity(DescribedEnum):
    """Severity of a problem."""

    ERROR = 'error', 'nodes may not be served until an operator acts'
    WARNING = 'warning', 'may resolve itself, or become an error'
    UNKNOWN = 'unknown', 'could not be checked'


class Kind(enum.StrEnum):
    """Kind of the subjects of a problem."""

    NODE = 'node'
    SERVICE = 'service'
    SHARD = 'shard'
    CONDUCTOR_GROUP = 'conductor_group'
    CONDUCTOR = 'conductor'
    RESERVATION = 'reservation'
    PART = 'part'


@dataclasses.dataclass(frozen=True)
class Problem:
    """One problem of the deployment.

    :param code: stable, for scripts and alert rules.
    :param subjects: uuids, hosts or names, all of them, in order.
    :param services: hosts concerned, in addition to the subjects.
    :param hint: the action that resolves it.
    """

    code: str
    severity: Severity
    what: str
    kind: Kind
    subjects: tuple[str, ...]
    services: tuple[str, ...] = ()
    hint: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedNode:
    """A node that Ironic has, as far as the checks need it.

    Without the node and its record, so that all of them are kept at once.

    :param released_by: the service that released it, while it is unowned.
    """

    uuid: str
    state: node_status.State
    decision: Decision
    owner: str | None
    owner_alive: bool | None
    driver: str
    conductor_group: str
    is_out_of_service: bool
    released_by: str | None


@dataclasses.dataclass(frozen=True)
class Facts:
    """The deployment, and what follows from it.

    A check uses only the parts that it declared to need.

    :param reporting: whether the local configuration reports to Placement.
    """

    snapshot: deployment_snapshot.DeploymentSnapshot
    interpret: policy_set.Interpreter
    reporting: bool = False

    @property
    def nodes(self) -> deployment_snapshot.Nodes:
        """Nodes and conductors of Ironic."""
        assert self.snapshot.nodes is not None
        return self.snapshot.nodes

    @property
    def fleet(self) -> evaluation.Fleet | None:
        """The conductors; ``None`` if Ironic does not show them."""
        return self.nodes.fleet

    @property
    def records(self) -> Mapping[str, model.ComputeNode]:
        """All compute nodes on record, by uuid."""
        assert self.snapshot.records is not None
        return self.snapshot.records

    @functools.cached_property
    def reports_inventory(self) -> bool:
        """True if any service reports nodes to Placement."""
        return self.reporting or any(
            record.placement_digest is not None
            for record in self.records.values()
        )

    @functools.cached_property
    def placement(self) -> placement_gaps.PlacementGaps:
        """Nodes that are not in Placement as they should be."""
        hosts = self._reporting_hosts
        return placement_gaps.find(
            self.nodes.listed.values() if hosts else (), self.records, hosts
        )

    @property
    def _reporting_hosts(self) -> Set[str]:
        if not self.reports_inventory:
            return frozenset()
        known = self.peer_groups.policies
        return {
            host
            for host in self.view.hosts
            if (policies := known.get(host)) is None
            or not policies.releases_free
        }

    @functools.cached_property
    def places(self) -> Mapping[tuple[str | None, str], int]:
        """The number of nodes by shard and conductor group."""
        return collections.Counter(
            (node.shard, node.conductor_group)
            for node in self.nodes.listed.values()
        )

    @functools.cached_property
    def stock_places(self) -> Set[tuple[str | None, str]]:
        """Shard and group of each node that stock Nova serves."""
        stock = {s.host for s in self.snapshot.services or () if s.is_stock}
        return {
            (node.shard, node.conductor_group)
            for node in self.nodes.listed.values()
            if stock
            and (record := (self.snapshot.records or {}).get(node.uuid))
            and record.host in stock
        }

    @property
    def view(self) -> model.View:
        """The members."""
        assert self.snapshot.view is not None
        return self.snapshot.view

    @functools.cached_property
    def services(self) -> dict[str, model.Service]:
        """The rows of the services, by host."""
        assert self.snapshot.services is not None
        return {row.host: row for row in self.snapshot.services}

    @property
    def reports(self) -> Mapping[str, ConditionReport]:
        """Reports of the services on their loops, by host."""
        return self.snapshot.reports or {}

    @functools.cached_property
    def peer_groups(self) -> PeerGroups:
        """The peer groups; without rows, as if no service were disabled."""
        return PeerGroups.of(
            self.view, self.snapshot.services or (), self.interpret
        )

    @functools.cached_property
    def unreadable(self) -> Sequence[policy_set.PolicySet]:
        """Filters of live, enabled services that can be built in part only.

        A node that they may admit may be well served.
        """
        groups = self.peer_groups
        rows = {row.host: row for row in self.snapshot.services or ()}
        return [
            policy_set.readable_part(member.settings, self.interpret)
            for member in self.view.members
            if groups.policies.get(member.host) is None
            and member.host in groups.alive
            and not (member.host in rows and rows[member.host].disabled)
        ]

    @property
    def statuses(self) -> Sequence[CheckedNode]:
        """The status of every node that Ironic has, as far as it is known.

        Nodes of services whose settings cannot be read are left out.

        :raises PluginFaultError: if a policy fails; it is called only once.
        """
        if isinstance(self._statuses, exceptions.PluginFaultError):
            raise self._statuses
        return self._statuses

    @functools.cached_property
    def _statuses(
        self,
    ) -> Sequence[CheckedNode] | exceptions.PluginFaultError:
        listed = self.nodes.listed
        found = node_status.Deployment(
            listed, self.records, self.peer_groups, self.fleet
        )
        try:
            return [
                _checked(status, status.node, status.decision)
                for status in found.statuses(listed)
                if status.node is not None
                and status.decision is not None
                and not self._may_be_unreadable(status.node)
            ]
        except exceptions.PluginFaultError as exc:
            return exc

    def _may_be_unreadable(self, node: model.Node) -> bool:
        return any(
            policies.may_admit(node.shard, node.conductor_group, node)
            for policies in self.unreadable
        )


class Check(NamedTuple):
    """One check.

    :ivar needs: it is skipped if one of these parts does not answer.
    """

    title: str
    needs: Set[deployment_snapshot.Part]
    find: Callable[[Facts], Iterable[Problem]]
    codes: Collection[str]


def _checked(
    status: node_status.NodeStatus, node: model.Node, decision: Decision
) -> CheckedNode:
    availability, record = status.availability, status.record
    return CheckedNode(
        status.uuid,
        status.state,
        decision,
        status.owner,
        status.owner_alive,
        node.driver,
        node.conductor_group,
        availability is not None
        and availability.code is Unavailable.OUT_OF_SERVICE,
        record.released_by if record else None,
    )
