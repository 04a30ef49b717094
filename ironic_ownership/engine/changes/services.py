"""Change a service: set, delete, or fail it over to a standby process.

A failover names the process to activate, which then registers by itself. No
node changes owner, and Ironic is not asked.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.engine import gates, suggestions
from ironic_ownership.engine.gates import Found, Gate, GateResult, Outcome
from ironic_ownership.engine.ports import Placement, Records

PATIENCE = 30.0
"""Seconds to wait for the standby to register."""

_PAUSE = 0.05


SETTINGS = ('disabled', 'disabled_reason', 'forced_down')
"""The settings that an operator decides; what is not given stays as it is."""


@dataclasses.dataclass(frozen=True)
class ServiceChange:
    """A service before and after an operator's decision.

    :param after: the service as it is now, or would be.
    :param wanted: the settings to change; ``None`` to give or revoke an order.
    """

    before: model.Service
    after: model.Service
    wanted: Mapping[str, Any] | None = None

    @property
    def changed(self) -> list[str]:
        """The names of the settings that are not as before."""
        before, after = self.before, self.after
        found = [
            name
            for name in SETTINGS
            if getattr(before, name) != getattr(after, name)
        ]
        # The same order again lets its whole time pass again.
        if (before.order, before.fence_seen_at) != (
            after.order,
            after.fence_seen_at,
        ):
            found.append('standing_order')
        return found

    def execute(self, records: Records, origin: Origin) -> ServiceChange:
        """Make the change; settings that are as before are not written.

        :raises NotFoundError: if the service was deleted meanwhile.
        """
        host = self.before.host
        if self.wanted is None:
            after = records.give_order(host, self.after.order, origin)
        elif not self.changed:
            return self
        else:
            after = records.set_service(
                host, **dataclasses.asdict(origin), **self.wanted
            )
        return dataclasses.replace(self, after=after)


def propose_settings(
    records: Records, host: str, wanted: Mapping[str, Any]
) -> ServiceChange:
    """Return the change that settings would make. Asks the records only.

    :param host: name of the service (case-insensitive).
    :param wanted: some of :data:`SETTINGS`.
    :raises NotFoundError: with the nearest names.
    """
    before = suggestions.service_named(records, host)
    return ServiceChange(before, before.decided(**wanted), wanted)


@dataclasses.dataclass(frozen=True)
class ServiceDeletion:
    """A service to delete; ``warnings`` name what could not be read.

    :param owned: its compute nodes on record.
    :param view: the members; ``None`` if they are unknown.
    """

    host: str
    owned: Sequence[model.ComputeNode]
    view: model.View | None
    warnings: tuple[str, ...] = ()

    @property
    def gates(self) -> tuple[GateResult, ...]:
        """The result of every gate, in a stable order.

        Source: ironic-shards, "Migrate from peer_list to shard_key": the old
        services are deleted when no instance and no compute node is left.
        """
        return gates.evaluate(DELETE, self)

    @property
    def refused(self) -> list[GateResult]:
        """The gates that forbid the deletion."""
        return gates.refusals(self.gates)


def _empty(remaining: Sequence[str | None]) -> Found | None:
    left = tuple(sorted(filter(None, remaining)))
    return Found(Outcome.FAILED, remaining=left) if left else None


def _not_alive(deletion: ServiceDeletion) -> Found | None:
    if deletion.view is None:
        return Found(Outcome.UNKNOWN)
    alive = deletion.host in deletion.view.hosts
    return _empty([deletion.host] if alive else [])


_STOP = (
    'Stop ironic-ownership-host of {case.host}; if the membership does not '
    'answer, repair that first'
)
DELETE: tuple[Gate[ServiceDeletion], ...] = (
    Gate(
        'no_compute_nodes',
        'no compute node names the service as its owner',
        'Stop it, then: ironic-ownership service set {case.host} --down, and '
        'ironic-ownership service drain {case.host}',
        lambda deletion: _empty([node.uuid for node in deletion.owned]),
    ),
    Gate(
        'no_instances',
        'no instance is on record as running on one of its nodes',
        'They move with their nodes: ironic-ownership service drain '
        '{case.host}',
        lambda deletion: _empty([n.instance_uuid for n in deletion.owned]),
    ),
    Gate(
        'not_alive',
        'the membership backend answers, and does not see the service',
        _STOP,
        _not_alive,
        unknown_hint=_STOP,
    ),
)
"""The gates of a service's deletion."""


@dataclasses.dataclass(frozen=True)
class DeleteService:
    """Delete a service, and the provider of its capacity in Placement.

    :param open_placement: returns a client, or ``None`` where services do
        not report to Placement; called on execution only.
    """

    records: Records
    backend: MembershipBackend
    open_placement: Callable[[], Placement | None]

    def propose(self, host: str) -> ServiceDeletion:
        """Evaluate every gate.

        :param host: name of the service (case-insensitive).
        :raises NotFoundError: with the nearest names.
        """
        host = suggestions.service_named(self.records, host).host
        view, warnings = None, []
        try:
            view = self.backend.view()
        except exceptions.MembershipError as exc:
            warnings.append(f'liveness is unknown: {exc}')
        owned = self.records.compute_nodes(NodeFilter(host=host))
        return ServiceDeletion(host, owned, view, tuple(warnings))

    def execute(self, proposed: ServiceDeletion, origin: Origin) -> bool:
        """Delete the service, unless a gate forbids it.

        :returns: whether it was deleted.
        :raises ServiceInUseError: if it was given a node or an instance
            after the gates were evaluated.
        :raises ProviderInUseError: if its provider has an allocation.
        :raises PlacementError: if Placement does not answer.
        """
        if proposed.refused:
            return False
        # Not imported by commands that only read.
        from ironic_ownership.engine.placement import inventory_diff

        # First: while the service exists, the operation can be repeated.
        placement = self.open_placement()
        if placement is not None:
            placement.delete_provider(
                inventory_diff.service_uuid(proposed.host)
            )
        self.records.delete_service(
            proposed.host, **dataclasses.asdict(origin)
        )
        return True


@dataclasses.dataclass(frozen=True)
class Failover:
    """A service before and after its failover.

    :param standbys: the incarnations that stand by.
    :param wanted: that of the process to activate, or a prefix of it.
    :param after: the service as it is now.
    """

    before: model.Service
    standbys: Sequence[str]
    wanted: str | None
    after: model.Service

    @property
    def host(self) -> str:
        """The name of the service."""
        return self.before.host

    @property
    def chosen(self) -> list[str]:
        """The standbys that could be meant."""
        return [s for s in self.standbys if s.startswith(self.wanted or '')]

    @property
    def target(self) -> str | None:
        """The process to activate; ``None`` if it is none, or several."""
        return self.chosen[0] if len(self.chosen) == 1 else None

    @property
    def gates(self) -> tuple[GateResult, ...]:
        """The result of every gate, in a stable order."""
        return gates.evaluate(FAIL_OVER, self)

    @property
    def refused(self) -> list[GateResult]:
        """The gates that forbid the failover."""
        return gates.refusals(self.gates)

    @property
    def done(self) -> bool:
        """True if there is a target, and it is the active process."""
        active = None if self.after.fenced else self.after.incarnation
        return active is not None and active == self.target


def _not_forced_down(failover: Failover) -> str | None:
    down = failover.before.forced_down
    return f'{failover.host} is forced down' if down else None


def _standby_alive(failover: Failover) -> str | None:
    host, standbys, wanted = failover.host, failover.standbys, failover.wanted
    chosen = failover.chosen
    if len(chosen) == 1:
        return None
    if not standbys:
        return f'no process stands by for {host}'
    listed = ', '.join(chosen or standbys)
    if wanted and not chosen:
        return f'{wanted} is not a live standby of {host}; these are: {listed}'
    return f'{len(chosen)} processes could take over: {listed}'


FAIL_OVER: tuple[Gate[Failover], ...] = (
    Gate(
        'not_forced_down',
        'the service may write',
        'ironic-ownership service set {case.host} --up',
        _not_forced_down,
    ),
    Gate(
        'standby_alive',
        'the membership sees the process named, or, if none is named, exactly '
        'one standby',
        'Start ironic-ownership-host with [DEFAULT] host = {case.host} on '
        'another machine; of several standbys, name one with --to',
        _standby_alive,
    ),
)
"""The gates of a failover."""


@dataclasses.dataclass(frozen=True)
class FailOverService:
    """Fail over a service to a process that stands by.

    :param clock: monotonic, in seconds.
    """

    records: Records
    backend: MembershipBackend
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def propose(self, host: str, wanted: str | None = None) -> Failover:
        """Choose the process to activate, and evaluate every gate.

        :param host: name of the service (case-insensitive).
        :param wanted: its incarnation, or a prefix of it; without it there
            has to be exactly one standby.
        :raises NotFoundError: with the nearest names.
        :raises MembershipError: if the membership does not answer.
        """
        row = suggestions.service_named(self.records, host)
        incarnations = self.backend.view().incarnations(row.host)
        standbys = sorted(incarnations - {row.incarnation})
        return Failover(row, standbys, wanted, row)

    def execute(self, proposed: Failover, origin: Origin) -> Failover:
        """Activate the process, unless a gate forbids it, and wait for it.

        The active process loses its right to write immediately.

        :returns: with the service as it is after the wait: still fenced if
            no process has registered, and with another incarnation if the
            target died meanwhile.
        :raises NotFoundError: if the service is deleted meanwhile.
        :raises RecordsError: if the records do not answer.
        """
        if proposed.refused or proposed.target is None:
            return proposed
        self.records.fail_over(
            proposed.host,
            incarnation=proposed.target,
            **dataclasses.asdict(origin),
        )
        return dataclasses.replace(proposed, after=self._wait(proposed.host))

    def _wait(self, host: str) -> model.Service:
        until = self.clock() + PATIENCE
        while True:
            row = suggestions.service_named(self.records, host)
            if not row.fenced or self.clock() >= until:
                return row
            self.sleep(_PAUSE)
