"""Laws of the beginning of a reservation."""

from __future__ import annotations

import dataclasses
import threading

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.reservations import Reservation
from tests.contract.suites import records, reservations


class BeginningContract(reservations.ReservationContract):
    """Beginning of a reservation."""

    def test_begun_reservation_is_read_as_it_was_asked_for(self) -> None:
        asked = dataclasses.replace(
            reservations.wanted(),
            request=reservations.request(
                memory_mb=1024,
                extra_specs={'capabilities': 'a,b'},
                image={'id': 'x', 'properties': {'p': 'é'}},
            ),
        )
        begun = self.reservations.begin(asked, lifetime=60)
        now = self.reservations.now()
        self.assertEqual(
            dataclasses.replace(
                asked,
                created_at=begun.created_at,
                updated_at=begun.created_at,
                expires_at=begun.expires_at,
            ),
            begun,
        )
        assert begun.created_at is not None and begun.expires_at is not None
        self.assertAlmostEqual(now, begun.created_at, delta=3600)
        self.assertAlmostEqual(60, begun.expires_at - begun.created_at)
        self.assertEqual(begun, self.reservations.find(begun.id))
        self.assertEqual(
            begun, self.reservations.of_instance(reservations.INSTANCE)
        )
        self.assertEqual([begun], list(self.reservations.reservations()))

    def test_without_a_lifetime_it_never_expires(self) -> None:
        self.assertIsNone(
            self.reservations.begin(reservations.wanted()).expires_at
        )

    def test_instance_has_one_open_reservation(self) -> None:
        first = self.reservations.begin(reservations.wanted())
        other = dataclasses.replace(
            reservations.wanted(), id=records.uuid(599), host='host2'
        )
        self.assertEqual(first, self.reservations.begin(other))
        self.assertEqual([first], self.everything())

    def test_closed_one_is_not_in_the_way_of_the_next(self) -> None:
        first = self.reservations.begin(reservations.wanted())
        self.reservations.close(first.id, 'no match')
        second = self.reservations.begin(
            dataclasses.replace(reservations.wanted(), id=records.uuid(599))
        )
        self.assertEqual(records.uuid(599), second.id)
        self.assertEqual(
            [reservations.CLOSED, reservations.PENDING],
            [r.state for r in self.everything()],
        )

    def test_of_many_at_once_one_is_begun(self) -> None:
        found: list[Reservation] = []

        def begin(number: int) -> None:
            access = self.make_reservations()
            found.append(
                access.begin(
                    dataclasses.replace(
                        reservations.wanted(), id=records.uuid(600 + number)
                    )
                )
            )

        threads = [threading.Thread(target=begin, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(4, len(found))
        self.assertEqual(1, len({r.id for r in found}))
        self.assertEqual(1, len(self.everything()))

    def test_one_can_begin_with_its_end(self) -> None:
        begun = self.reservations.begin(
            reservations.wanted(state=reservations.DELETING)
        )
        self.assertIs(reservations.DELETING, begun.state)
        self.assertIs(
            reservations.CLOSED, self.reservations.close(begun.id, 'x').state
        )

    def test_unknown_one_is_not_found(self) -> None:
        unknown = records.uuid(777)
        self.assertIsNone(self.reservations.find(unknown))
        self.assertIsNone(self.reservations.of_instance(unknown))
        for call in (
            lambda: self.reservations.confirm(unknown),
            lambda: self.reservations.begin_deletion(unknown, 'x'),
            lambda: self.reservations.keep(unknown, 'x'),
            lambda: self.reservations.close(unknown, 'x'),
            lambda: self.reservations.activate(
                unknown, records.node(1), epoch=1
            ),
        ):
            self.assert_nothing_changes(exceptions.NotFoundError, call)
