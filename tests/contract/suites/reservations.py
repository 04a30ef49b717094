"""The base of the suites of reservations on record.

The suites are ``reservation_beginning``, ``reservation_activation`` and
``reservation_end``. Usage::

    class TestEnd(reservation_end.EndContract):
        def make_records(self):
            return MyRecords(...)

        def make_reservations(self):
            return MyReservations(...)
"""

from __future__ import annotations

from typing import Any

from ironic_ownership.contracts import events, exceptions
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.reservations import (
    Request,
    Reservation,
    ReservationState,
)
from ironic_ownership.engine.ports import Reservations
from tests.contract.suites import records

ACTOR = 'operator@somewhere'
ORIGIN = events.Origin(ACTOR, 'req-reservation')
INSTANCE = records.uuid(901)
PENDING, ACTIVE = ReservationState.PENDING, ReservationState.ACTIVE
DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED


def request(number: int = 901, **values: Any) -> Request:
    """Return a request for the instance of that number."""
    data = {
        'instance_uuid': records.uuid(number),
        'service': 'host1',
        'resource_class': 'gold',
        'traits': ['CUSTOM_A'],
        **values,
    }
    return Request.from_mapping(data)


def wanted(number: int = 1, **values: Any) -> Reservation:
    """Return a reservation that begins; its instance has number + 900."""
    asked = request(900 + number)
    return Reservation(
        id=records.uuid(500 + number),
        instance_uuid=asked.instance_uuid,
        host='host1',
        request=asked,
        **values,
    )


class ReservationContract(records.RecordsContract):
    """A reservation on record, from its beginning to its end."""

    def make_reservations(self) -> Reservations:
        """Return an access to the same database as this test's records."""
        raise NotImplementedError

    def setUp(self) -> None:
        super().setUp()
        self.reservations = self.make_reservations()
        self.epoch = self.register('host1')

    def reserve(self, number: int = 1, **values: Any) -> Reservation:
        """Record a reservation of the node of that number."""
        begun = self.reservations.begin(wanted(number, **values))
        return self.reservations.activate(
            begun.id,
            records.node(number),
            epoch=self.service('host1').epoch,
            origin=ORIGIN,
        )

    def assert_not_activated(
        self,
        reservation_id: str,
        error: type[Exception] = exceptions.ReservationConflictError,
        epoch: int | None = None,
    ) -> None:
        """See the first node refused to a reservation."""
        self.assert_nothing_changes(
            error,
            self.reservations.activate,
            reservation_id,
            records.node(1),
            epoch=self.epoch if epoch is None else epoch,
        )

    def last_event(self, number: int = 1) -> tuple[Any, ...]:
        event = self.records.events(
            EventFilter(node_uuid=records.uuid(number))
        )[0]
        return (
            event.actor,
            event.kind,
            event.from_host,
            event.to_host,
            event.instance_uuid,
            event.reason,
            event.request_id,
        )

    def assert_nothing_changes(
        self, error: type[Exception], *call: Any, **values: Any
    ) -> None:
        before = self.state(), self.everything()
        with self.assertRaises(error):
            call[0](*call[1:], **values)
        self.assertEqual(before, (self.state(), self.everything()))

    def everything(self) -> list[Reservation]:
        return list(self.reservations.reservations(states=[*ReservationState]))
