"""May this service be given a node by a reservation? Asked before anything."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from typing import Any

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.membership import fence

POLICY = 'reservation'
"""The built-in policy by which nodes are reserved, for messages."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """A service that can be given a node, as it was read.

    :param settings: the options of its assigner, as it advertises them.
    """

    host: str
    epoch: int
    policies: policy_set.PolicySet
    settings: dict[str, Any]

    @property
    def lifetime(self) -> float | None:
        """Seconds until a reservation expires; ``None`` for never."""
        return float(self.settings.get('expiry') or 0) or None

    @property
    def fallback(self) -> str:
        """How to reserve where Ironic has no allocations; empty: not."""
        return str(self.settings.get('fallback') or '')


LONGEST_AGE = 1.0
"""Seconds for which many that ask at once share one look at the services. A
service can die a moment after any look; whether it was stopped or disabled is
judged once more when the node is recorded."""


class Services:
    """Looks services up.

    Threading: any thread; one of them asks, and the others wait for it.
    """

    def __init__(
        self,
        records: Records,
        backend: MembershipBackend,
        interpret: policy_set.Interpreter,
        *,
        clock: fence.Clock = fence.monotonic,
    ) -> None:
        self._records = records
        self._backend = backend
        self._interpret = interpret
        self._clock = clock
        self._lock = threading.Lock()
        self._read_at: float | None = None
        self._rows: Mapping[str, model.Service] = {}
        self._view = model.View()

    def find(self, host: str, *, fresh: bool = False) -> Fit:
        """Return a service that is alive, enabled, and under such a policy.

        Source: multiple-compute-hosts, "Proposed change": the service that
        is given the instance is one that runs.

        :param fresh: do not believe what was read a moment ago.
        :raises ServiceRefusedError: saying what it lacks.
        :raises NotFoundError: if there is no such service.
        """
        if not fresh:
            try:
                return _fit(host, *self._look(fresh=False), self._interpret)
            except (
                exceptions.NotFoundError,
                exceptions.ServiceRefusedError,
            ):
                pass  # unless that has changed
        return _fit(host, *self._look(fresh=True), self._interpret)

    def _look(
        self, *, fresh: bool
    ) -> tuple[Mapping[str, model.Service], model.View]:
        with self._lock:
            now = self._clock()
            if (
                fresh
                or self._read_at is None
                or now - self._read_at > LONGEST_AGE
            ):
                rows = {row.host: row for row in self._records.services()}
                self._view = self._backend.view().serving(rows.values())
                self._rows, self._read_at = rows, now
            return self._rows, self._view


def _fit(
    host: str,
    rows: Mapping[str, model.Service],
    view: model.View,
    interpret: policy_set.Interpreter,
) -> Fit:
    row = rows.get(host)
    if row is None:
        raise exceptions.NotFoundError(
            f'there is no service {host}',
            hint=f'Known are: {", ".join(sorted(rows)) or "none"}',
        )
    member = view.get(host)
    _check(row, member)
    settings = row.settings if member is None else member.settings
    policies = interpret(settings)
    if policies is None or not policies.releases_free:
        raise exceptions.ServiceRefusedError(
            f'{host} does not run the policy "{POLICY}", so nodes are not '
            'reserved for it',
            hint=f'Add {POLICY} to its [ownership] policies',
        )
    assert policies.assigner is not None
    return Fit(host, row.epoch, policies, dict(policies.assigner.settings()))


def _check(row: model.Service, member: model.Member | None) -> None:
    what, hint = '', ''
    if row.forced_down:
        what, hint = 'forced down', f'service set {row.host} --up'
    elif row.disabled:
        what, hint = 'disabled', f'service set {row.host} --enable'
    elif member is None:
        what, hint = 'not alive', 'check'
    elif row.fenced:
        what, hint = 'fenced, and has not registered again', 'check'
    if what:
        raise exceptions.ServiceRefusedError(
            f'{row.host} is {what}, so no node is reserved for it',
            hint=f'See, or change that: ironic-ownership {hint}',
        )
