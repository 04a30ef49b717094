"""Probe of Ironic: whether it enforces ownership, and admits this service.

A service whose key or clock differs from Ironic's is a live member, and each
of its changes is refused: no reading of the records or of Ironic shows that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.ports import BareMetal
from ironic_ownership.engine.worker import Worker

NOT_ENFORCED: Mapping[Enforcement, tuple[str, str]] = {
    Enforcement.ABSENT: (
        'it has no middleware "ownership"',
        (
            'Install ironic-ownership-middleware there, and set [api] '
            'middleware = ownership in ironic.conf; or remove [enforcement] '
            'shared_key here'
        ),
    ),
    Enforcement.OTHER_KEY: (
        'it refuses every request signed with the key of this configuration',
        (
            'Compare [enforcement] shared_key with [ownership] shared_keys in '
            'ironic.conf, and the clocks of both machines'
        ),
    ),
    Enforcement.NO_RECORDS: (
        'it cannot read the records, and refuses the requests of all services',
        (
            'Compare [ownership] connection in ironic.conf with [database] '
            'connection here; the log of Ironic has the cause'
        ),
    ),
}
"""What an answer means, and what to do."""


class NotEnforcedError(exceptions.OwnershipError):
    """Ironic does not enforce ownership, as it should."""

    code, http_status, exit_code = 'not_enforced', 409, 3

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(
            f'Ironic does not enforce ownership: {why}', hint=hint
        )


def require_enforcement(ironic: BareMetal, shared_key: str) -> None:
    """Make sure that Ironic refuses a service that lost its nodes.

    :raises NotEnforcedError: if it does not.
    :raises IronicError: if it does not answer.
    """
    if not shared_key:
        raise NotEnforcedError(
            '[enforcement] shared_key is not set',
            'Install ironic-ownership-middleware in Ironic, and set '
            '[enforcement] shared_key in every configuration; see '
            '"Enforcement in Ironic" in the documentation',
        )
    found = ironic.enforcement(shared_key)
    if found is not Enforcement.ENFORCED:
        raise NotEnforcedError(*NOT_ENFORCED[found])


@dataclasses.dataclass(eq=False)
class EnforcementProbe(Worker):
    """Asks Ironic again and again, as this service signs its requests.

    :param ironic: a client that no other thread uses.
    :param interval: returns the seconds between two requests.
    """

    conditions: Conditions
    ironic: BareMetal
    shared_key: str
    interval: Callable[[], float]

    condition = Loop.ENFORCEMENT
    fails = 'Ironic does not admit the changes of this service as configured'
    works = 'Ironic enforces ownership, and admits the changes of this service'

    def step(self) -> float:
        """Send one request."""
        require_enforcement(self.ironic, self.shared_key)
        self.conditions.succeeded(Loop.ENFORCEMENT)
        return self.interval()
