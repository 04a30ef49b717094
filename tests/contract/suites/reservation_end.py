"""Laws of the end and the move of a reservation."""

from __future__ import annotations

import dataclasses
import time

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Release, Update
from tests.contract.suites import records, reservations


class EndContract(reservations.ReservationContract):
    """Confirmation, deletion and closing."""

    def test_confirmed_one_does_not_expire(self) -> None:
        begun = self.reservations.begin(reservations.wanted(), lifetime=60)
        self.assert_nothing_changes(
            exceptions.ReservationConflictError,
            self.reservations.confirm,
            begun.id,
        )
        self.reserve()
        for _ in range(2):
            confirmed = self.reservations.confirm(begun.id)
            self.assertTrue(confirmed.confirmed)
            self.assertIsNone(confirmed.expires_at)

    def test_deletion_that_begins_leaves_the_node_where_it_is(self) -> None:
        made = self.reserve()
        before = self.state()
        for _ in range(2):
            found = self.reservations.begin_deletion(made.id, 'not wanted')
            self.assertEqual(
                (reservations.DELETING, 'not wanted'),
                (found.state, found.detail),
            )
        self.assertEqual(before, self.state())

    def test_deletion_of_what_has_changed_since_is_refused(self) -> None:
        begun = self.reservations.begin(reservations.wanted(), lifetime=1)
        made = self.reserve()
        self.reservations.confirm(made.id)
        for seen in (begun, made):
            self.assert_nothing_changes(
                exceptions.ReservationConflictError,
                self.reservations.begin_deletion,
                made.id,
                'expired',
                seen=seen,
            )

    def test_deletion_is_taken_over_by_one_only(self) -> None:
        made = self.reserve()
        seen = self.reservations.begin_deletion(made.id, 'x')
        time.sleep(0.01)  # as long as the coarsest clock of a database
        taken = self.reservations.begin_deletion(made.id, 'y', seen=seen)
        self.assertEqual(
            (reservations.DELETING, 'y'), (taken.state, taken.detail)
        )
        self.assert_nothing_changes(
            exceptions.ReservationConflictError,
            self.reservations.begin_deletion,
            made.id,
            'z',
            seen=seen,
        )

    def test_deletion_can_be_taken_back(self) -> None:
        made = self.reserve()
        self.reservations.begin_deletion(made.id, 'x')
        for _ in range(2):
            kept = self.reservations.keep(made.id, 'deployed')
            self.assertEqual(
                (reservations.ACTIVE, True, None),
                (kept.state, kept.confirmed, kept.expires_at),
            )

    def test_only_what_was_active_is_active_again(self) -> None:
        begun = self.reservations.begin(reservations.wanted())
        self.assertIs(
            reservations.PENDING, self.reservations.keep(begun.id, 'x').state
        )
        self.reservations.begin_deletion(begun.id, 'x')
        self.assertIs(
            reservations.DELETING, self.reservations.keep(begun.id, 'x').state
        )
        self.reservations.close(begun.id, 'x')
        self.assertIs(
            reservations.CLOSED, self.reservations.keep(begun.id, 'x').state
        )

    def test_closed_one_frees_the_node_in_one_event(self) -> None:
        made = self.reserve()
        closed = self.reservations.close(
            made.id, 'deleted', origin=reservations.ORIGIN
        )
        self.assertEqual(
            (reservations.CLOSED, 'deleted'), (closed.state, closed.detail)
        )
        self.assertEqual((None, None), (self.owner(1), self.instance(1)))
        self.assertEqual(
            (
                reservations.ACTOR,
                'node_released',
                'host1',
                None,
                reservations.INSTANCE,
                made.id,
                'req-reservation',
            ),
            self.last_event(),
        )
        self.assertEqual(['node_reserved', 'node_released'], self.kinds(1))
        self.assertIsNone(self.reservations.of_instance(reservations.INSTANCE))
        self.assertEqual([], list(self.reservations.reservations()))
        self.assertEqual(closed, self.reservations.find(made.id))

    def test_second_close_changes_nothing(self) -> None:
        made = self.reserve()
        closed = self.reservations.close(made.id, 'deleted')
        before = self.state()
        self.assertEqual(closed, self.reservations.close(made.id, 'again'))
        self.assertEqual(
            closed, self.reservations.begin_deletion(made.id, 'again')
        )
        self.assertEqual(before, self.state())

    def test_node_whose_instance_went_before_is_released(self) -> None:
        made = self.reserve()
        self.assert_applied('host1', self.epoch, Update(records.node(1)))
        self.reservations.close(made.id, 'gone')
        self.assertIsNone(self.owner(1))

    def test_node_that_has_become_another_instances_stays(self) -> None:
        made = self.reserve()
        other = records.node(1, instance_uuid=records.uuid(950))
        self.assert_applied('host1', self.epoch, Update(other))
        self.reservations.close(made.id, 'gone')
        self.assertEqual(
            ('host1', records.uuid(950)), (self.owner(1), self.instance(1))
        )

    def test_node_that_was_let_go_and_taken_by_another_stays(self) -> None:
        made = self.reserve()
        two = self.register('host2')
        self.assert_applied('host1', self.epoch, Update(records.node(1)))
        self.assert_applied('host1', self.epoch, Release(records.uuid(1)))
        self.assert_applied('host2', two, records.claim(1))
        self.reservations.close(made.id, 'gone')
        self.assertEqual('host2', self.owner(1))

    def test_service_without_a_right_writes_nothing(self) -> None:
        made = self.reserve()
        self.register('host1')
        for call in (
            lambda: self.reservations.begin_deletion(
                made.id, 'x', epoch=self.epoch
            ),
            lambda: self.reservations.close(made.id, 'x', epoch=self.epoch),
        ):
            self.assert_nothing_changes(exceptions.FencedError, call)

    def test_reservations_are_listed_by_service_state_and_place(self) -> None:
        first, second = self.reserve(1), self.reserve(2)
        third = self.reservations.begin(
            dataclasses.replace(reservations.wanted(3), host='host2')
        )
        closed = self.reservations.close(second.id, 'x')
        listed = self.reservations.reservations
        self.assertEqual([first, third], list(listed()))
        self.assertEqual([third], list(listed(host='host2')))
        self.assertEqual([closed], list(listed(states=[reservations.CLOSED])))
        self.assertEqual([first], list(listed(limit=1)))
        self.assertEqual([third], list(listed(marker=first.id)))
        self.assertEqual([], list(listed(states=[])))


class MovedReservationContract(reservations.ReservationContract):
    """Effect of a move on a reservation."""

    def move(self, number: int, destination: str) -> None:
        """Have an operator move a node, and its instance."""
        raise NotImplementedError

    def test_reservation_follows_its_node(self) -> None:
        made = self.reserve()
        self.register('host2')
        self.move(1, 'host2')
        found = self.reservations.find(made.id)
        assert found is not None
        self.assertEqual('host2', found.host)
        self.reservations.close(made.id, 'x')
        self.assertIsNone(self.owner(1))

    def test_closed_reservation_stays_what_it_was(self) -> None:
        made = self.reserve()
        self.reservations.close(made.id, 'x')
        self.assert_applied('host1', self.epoch, records.claim(1))
        self.register('host2')
        self.move(1, 'host2')
        found = self.reservations.find(made.id)
        assert found is not None
        self.assertEqual('host1', found.host)
