"""Eligibility of a service for reservations, checked first."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, MutableMapping
from typing import Any

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.calls import Clock, monotonic
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.ports import Records

POLICY = 'reservation'
"""Name of the built-in policy that reserves nodes, for messages."""


@dataclasses.dataclass(frozen=True)
class EligibleService:
    """A service for which nodes can be reserved.

    :param lifetime: seconds until a reservation expires; ``None`` for never.
    """

    host: str
    epoch: int
    policies: policy_set.PolicySet
    lifetime: float | None


_Read = tuple[Mapping[str, model.Service], model.View]

LONGEST_AGE = 1.0
"""Seconds for which concurrent requests share one read of the services. A
service can die right after any read; whether it was stopped or disabled is
checked again when the node is recorded."""


@dataclasses.dataclass
class ServiceReader:
    """Reads services.

    Threading: any thread; while one reads, the others wait for it.
    """

    records: Records
    backend: MembershipBackend
    interpret: policy_set.Interpreter
    clock: Clock = monotonic

    def __post_init__(self) -> None:
        import cachetools  # not for every command

        self._lock = threading.Lock()
        self._cached: MutableMapping[str, _Read] = cachetools.TTLCache(
            1, LONGEST_AGE, self.clock
        )

    def find(self, host: str, *, fresh: bool = False) -> EligibleService:
        """Return a service that is alive, enabled, and has such a policy.

        Source: multiple-compute-hosts, "Proposed change": the instance is
        assigned to a running service.

        :param fresh: do not use the cache.
        :raises ServiceRefusedError: if it is not eligible, with the reason.
        :raises NotFoundError: if there is no such service.
        """
        try:
            return self._eligible(host, fresh)
        except (exceptions.NotFoundError, exceptions.ServiceRefusedError):
            if fresh:
                raise
            # The cache may be out of date.
            return self.find(host, fresh=True)

    def _read(self, fresh: bool) -> _Read:
        with self._lock:
            found = None if fresh else self._cached.get('')
            if found is None:
                rows = {row.host: row for row in self.records.services()}
                view = self.backend.view().serving(rows.values())
                found = self._cached[''] = rows, view
            return found

    def _eligible(self, host: str, fresh: bool) -> EligibleService:
        rows, view = self._read(fresh)
        row = rows.get(host)
        if row is None:
            raise exceptions.NotFoundError(
                f'there is no service {host}',
                hint=f'Known are: {", ".join(sorted(rows)) or "none"}',
            )
        member = view.get(host)
        _check(row, member)
        settings = row.settings if member is None else member.settings
        policies = self.interpret(settings)
        if policies is None or not policies.releases_free:
            raise exceptions.ServiceRefusedError(
                f'{host} does not use the policy "{POLICY}", so no node is '
                'reserved for it',
                hint=f'Add {POLICY} to its [ownership] policies',
            )
        assert policies.assigner is not None
        advertised: dict[str, Any] = {**policies.assigner.settings()}
        lifetime = float(advertised.get('expiry') or 0) or None
        return EligibleService(host, row.epoch, policies, lifetime)


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
            hint=f'To see or change that: ironic-ownership {hint}',
        )
