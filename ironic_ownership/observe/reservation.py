"""Columns of reservations."""

from __future__ import annotations

from ironic_ownership.contracts import reservations
from ironic_ownership.engine.reservations.selection import Choice
from ironic_ownership.observe import columns

_Column = columns.Column[reservations.Reservation]

RESERVATION = (
    _Column('id', lambda r: r.id),
    _Column('instance_uuid', lambda r: r.instance_uuid),
    _Column('service', lambda r: r.host),
    _Column('node_uuid', lambda r: r.node_uuid),
    _Column('state', lambda r: r.state.value),
    _Column('confirmed', lambda r: r.confirmed),
    _Column('created_at', lambda r: columns.moment(r.created_at)),
    _Column('expires_at', lambda r: columns.moment(r.expires_at)),
)

DETAILS = (
    *RESERVATION,
    _Column('updated_at', lambda r: columns.moment(r.updated_at)),
    _Column('method', lambda r: r.method),
    _Column('detail', lambda r: r.detail),
    _Column('creator', lambda r: r.creator),
    _Column('request', lambda r: r.request.to_mapping()),
)


_Choice = columns.Column[Choice]

CHOICE = (
    _Choice('fitting', lambda c: c.fitting),
    _Choice('candidates', lambda c: [node.uuid for node in c.candidates]),
    _Choice('examined', lambda c: c.examined),
    _Choice('removed', lambda c: dict(c.removed)),
)
"""Result of a dry run of a request."""
