"""Turn reservations into rows and back, and only that.

What another release wrote into a row must not break the reading of all the
others: a request that cannot be read asks for nothing but its instance.
"""

from __future__ import annotations

import json
from typing import Any

from ironic_ownership.contracts import (
    allocations,
    exceptions,
    reservation_request,
)
from ironic_ownership.contracts.reservations import (
    Reservation,
    ReservationState,
)

Row = dict[str, Any]


def reservation(row: Any) -> Reservation:
    """Build a reservation from a row of ``reservations``."""
    return Reservation(
        id=row.id,
        instance_uuid=row.instance_uuid,
        host=row.host,
        request=_request(row),
        method=allocations.Method(row.method),
        state=ReservationState(row.state),
        node_uuid=row.node_uuid,
        created_at=row.created_at,
        updated_at=row.updated_at,
        expires_at=row.expires_at,
        confirmed=bool(row.confirmed),
        detail=row.detail,
    )


def new_row(
    reservation: Reservation, now: float, lifetime: float | None
) -> Row:
    """Return the row of a reservation that begins.

    :param now: seconds since the epoch.
    """
    return {
        'id': reservation.id,
        'instance_uuid': reservation.instance_uuid,
        'open_instance_uuid': reservation.instance_uuid,
        'host': reservation.host,
        'node_uuid': reservation.node_uuid,
        'state': reservation.state.value,
        'method': reservation.method.value,
        'request': json.dumps(reservation.request.to_mapping()),
        'confirmed': reservation.confirmed,
        'detail': reservation.detail,
        'created_at': now,
        'updated_at': now,
        'expires_at': None if lifetime is None else now + lifetime,
    }


def _request(row: Any) -> reservation_request.Request:
    try:
        return reservation_request.Request.from_mapping(
            json.loads(row.request)
        )
    except (ValueError, exceptions.RequestError):
        return reservation_request.Request(row.instance_uuid, row.host)
