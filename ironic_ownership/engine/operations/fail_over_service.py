"""Fail over a service: make one of its standby processes the active one.

The records name the process to activate, which then registers by itself. No
node changes owner, and Ironic is not asked.
"""

from __future__ import annotations

import dataclasses
import enum
import time
from collections.abc import Callable, Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.gates import GateResult, Outcome, refusals

PATIENCE = 30.0
"""Seconds to wait for the standby to register."""

_PAUSE = 0.05


class Gate(enum.StrEnum):
    """One named check; the codes are stable."""

    NOT_FORCED_DOWN = 'not_forced_down'
    """The service may write."""

    STANDBY_ALIVE = 'standby_alive'
    """The membership sees the process named, or, if none is named, exactly
    one standby."""


HINTS: Mapping[Gate, str] = {
    Gate.NOT_FORCED_DOWN: 'ironic-ownership service set {host} --up',
    Gate.STANDBY_ALIVE: (
        'Start ironic-ownership-host with [DEFAULT] host = {host} on another '
        'machine; of several standbys, name one with --to'
    ),
}
"""The action for every gate that failed."""


@dataclasses.dataclass(frozen=True)
class Failover:
    """A service before and after its failover.

    :param target: incarnation of the process to activate; ``None`` if there
        is none, or several.
    :param after: the service as it is now.
    """

    before: model.Service
    target: str | None
    gates: tuple[GateResult, ...]
    after: model.Service

    @property
    def refused(self) -> list[GateResult]:
        """The gates that forbid the failover."""
        return refusals(self.gates)

    @property
    def done(self) -> bool:
        """True if the active process is the target, or there is neither."""
        return not self.after.fenced and self.after.incarnation == self.target


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

        :param host: name of the service; case does not count.
        :param wanted: its incarnation, or a prefix of it; without it there
            has to be exactly one standby.
        :raises NotFoundError: with the nearest names.
        :raises MembershipError: if the membership does not answer.
        """
        rows = {row.host: row for row in self.records.services()}
        row = rows[suggestions.known_service(host, rows)]
        incarnations = self.backend.view().incarnations(row.host)
        standbys = sorted(incarnations - {row.incarnation})
        chosen = [s for s in standbys if s.startswith(wanted or '')]
        results = (
            _gate(
                Gate.NOT_FORCED_DOWN,
                row.host,
                '' if not row.forced_down else f'{row.host} is forced down',
            ),
            _gate(
                Gate.STANDBY_ALIVE,
                row.host,
                ''
                if len(chosen) == 1
                else _obstacle(row.host, standbys, chosen, wanted),
            ),
        )
        target = chosen[0] if len(chosen) == 1 else None
        return Failover(row, target, results, row)

    def execute(
        self, proposed: Failover, *, actor: str, request_id: str | None = None
    ) -> Failover:
        """Activate the process, unless a gate forbids it, and wait for it.

        The active process loses its right to write immediately.

        :returns: with the service as it is after the wait: still fenced if
            no process has registered, and with another incarnation if the
            target died meanwhile.
        :raises RecordsError: if the records do not answer.
        """
        if proposed.refused or proposed.target is None:
            return proposed
        host = proposed.before.host
        self.records.fail_over(
            host,
            incarnation=proposed.target,
            actor=actor,
            request_id=request_id,
        )
        return dataclasses.replace(proposed, after=self._wait(host))

    def _wait(self, host: str) -> model.Service:
        until = self.clock() + PATIENCE
        while True:
            row = next(s for s in self.records.services() if s.host == host)
            if not row.fenced or self.clock() >= until:
                return row
            self.sleep(_PAUSE)


def _gate(gate: Gate, host: str, obstacle: str) -> GateResult:
    if not obstacle:
        return GateResult(gate, Outcome.PASSED)
    return GateResult(
        gate, Outcome.FAILED, obstacle, hint=HINTS[gate].format(host=host)
    )


def _obstacle(
    host: str,
    standbys: Sequence[str],
    chosen: Sequence[str],
    wanted: str | None,
) -> str:
    if not standbys:
        return f'no process stands by for {host}'
    listed = ', '.join(chosen or standbys)
    if wanted and not chosen:
        return (
            f'{wanted} is no live process that stands by for {host}; these '
            f'do: {listed}'
        )
    return f'{len(chosen)} processes could take over: {listed}'
