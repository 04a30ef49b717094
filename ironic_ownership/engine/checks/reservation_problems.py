"""Problems of reservations: unfinished ones of a dead service.

Pure. Only the service itself settles its reservations, in its refresh.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator

from ironic_ownership.contracts import reservations
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.checks.problem import (
    Facts,
    Kind,
    Problem,
    Severity,
)

_UNFINISHED = reservations.OPEN - {reservations.ReservationState.ACTIVE}


def unsettled(facts: Facts) -> Iterator[Problem]:
    """Find reservations that wait for a dead service."""
    waiting: dict[str, list[str]] = collections.defaultdict(list)
    for one in facts.snapshot.reservations or ():
        row = facts.services.get(one.host)
        lives = one.host in facts.view.hosts or (row is not None and row.away)
        if not lives and _needs_its_service(one):
            waiting[one.host].append(one.id)
    for host in sorted(waiting):
        yield Problem(
            'reservation_left',
            Severity.WARNING,
            f'{suggestions.counted(len(waiting[host]), "reservation")} of '
            f'{host}, which is dead: unfinished or due to expire, and no '
            'service settles them',
            Kind.RESERVATION,
            tuple(sorted(waiting[host])),
            (host,),
            f'Start {host} again, or release the nodes: '
            'ironic-ownership reservation delete ID',
        )


def _needs_its_service(one: reservations.Reservation) -> bool:
    if one.state is reservations.ReservationState.ACTIVE:
        return one.expires_at is not None and not one.confirmed
    return one.state in _UNFINISHED
