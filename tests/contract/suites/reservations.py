"""Laws of the reservations on record: their beginning, use and end."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import events, exceptions, reasons
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.records import Delete, Release, Update
from ironic_ownership.contracts.reservations import (
    Request,
    Reservation,
    ReservationState,
)
from ironic_ownership.db import tables
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
        number: int = 1,
    ) -> None:
        """See a node refused to a reservation."""
        self.assert_nothing_changes(
            error,
            self.reservations.activate,
            reservation_id,
            records.node(number),
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


class BeginningContract(ReservationContract):
    """Beginning of a reservation."""

    def test_begun_reservation_is_read_as_it_was_asked_for(self) -> None:
        asked = dataclasses.replace(
            wanted(),
            request=request(
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
        self.assertEqual(begun, self.reservations.of_instance(INSTANCE))
        self.assertEqual([begun], list(self.reservations.reservations()))

    def test_request_of_any_size_is_read_as_it_was_asked_for(self) -> None:
        specs = {f'{n:04d}{"x" * 251}': 'é' * 255 for n in range(1000)}
        asked = dataclasses.replace(
            wanted(), request=request(extra_specs=specs)
        )
        begun = self.reservations.begin(asked)
        self.assertEqual(asked.request, begun.request)
        self.assertEqual(begun, self.reservations.find(begun.id))

    def test_without_a_lifetime_it_never_expires(self) -> None:
        self.assertIsNone(self.reservations.begin(wanted()).expires_at)

    def test_instance_has_one_open_reservation(self) -> None:
        first = self.reservations.begin(wanted())
        other = dataclasses.replace(
            wanted(), id=records.uuid(599), host='host2'
        )
        self.assertEqual(first, self.reservations.begin(other))
        self.assertEqual([first], self.everything())

    def test_closed_one_is_not_in_the_way_of_the_next(self) -> None:
        first = self.reservations.begin(wanted())
        self.reservations.close(first.id, 'no match')
        second = self.reservations.begin(
            dataclasses.replace(wanted(), id=records.uuid(599))
        )
        self.assertEqual(records.uuid(599), second.id)
        self.assertEqual(
            [CLOSED, PENDING],
            [r.state for r in self.everything()],
        )

    def test_of_many_at_once_one_is_begun(self) -> None:
        found: list[Reservation] = []

        def begin(number: int) -> None:
            access = self.make_reservations()
            found.append(
                access.begin(
                    dataclasses.replace(
                        wanted(), id=records.uuid(600 + number)
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
        begun = self.reservations.begin(wanted(state=DELETING))
        self.assertIs(DELETING, begun.state)
        self.assertIs(CLOSED, self.reservations.close(begun.id, 'x').state)

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


class ActivationContract(ReservationContract):
    """Records of an allocated node."""

    def test_service_owns_the_node_and_its_instance_in_one_event(self) -> None:
        made = self.reserve()
        self.assertEqual(
            (ACTIVE, records.uuid(1), False),
            (made.state, made.node_uuid, made.confirmed),
        )
        found = self.find(1)
        assert found is not None
        self.assertEqual(
            (
                'host1',
                INSTANCE,
                reasons.Reason.RESERVED,
                'node-1',
            ),
            (found.host, found.instance_uuid, found.reason, found.name),
        )
        self.assertEqual(
            (
                ACTOR,
                'node_reserved',
                None,
                'host1',
                INSTANCE,
                made.id,
                'req-reservation',
            ),
            self.last_event(),
        )
        self.assertEqual(['node_reserved'], self.kinds(1))

    def test_release_that_has_lapsed_ends(self) -> None:
        held = {'held_by': 'req-move', 'held_until': 1.0}
        nodes = tables.compute_nodes
        columns = nodes.c.released_by, nodes.c.held_by, nodes.c.held_until
        self.assert_applied('host1', self.epoch, records.claim(1))
        self.assert_applied('host1', self.epoch, Release(records.uuid(1)))
        database = self.records._database
        database.write(lambda conn: conn.execute(nodes.update().values(held)))
        self.reserve()
        (row,) = database.select(sa.select(*columns), tuple)
        self.assertEqual((None, None, None), row)

    def test_service_itself_writes_when_no_actor_is_named(self) -> None:
        begun = self.reservations.begin(wanted())
        self.reservations.activate(begun.id, records.node(1), epoch=self.epoch)
        self.assertEqual('host1', self.last_event()[0])

    def test_repeated_it_changes_nothing(self) -> None:
        first = self.reserve()
        before = self.state()
        again = self.reservations.activate(
            first.id, records.node(1), epoch=self.epoch
        )
        self.assertEqual(first, again)
        self.assertEqual(before, self.state())

    def test_node_of_the_service_or_of_none_can_be_reserved(self) -> None:
        for number, *before in (
            (1, records.claim(1)),
            # Its instance was seen before.
            (2, records.claim(2, instance_uuid=records.uuid(902))),
            (3, records.claim(3), Release(records.uuid(3))),
            (4, records.claim(4), Delete(records.uuid(4))),
        ):
            for change in before:
                self.assert_applied('host1', self.epoch, change)
            self.reserve(number)
            self.assertEqual(
                ('host1', records.uuid(900 + number)),
                (self.owner(number), self.instance(number)),
            )

    def test_node_of_another_service_or_instance_is_refused(self) -> None:
        two = self.register('host2')
        self.assert_applied('host2', two, records.claim(1))
        other = records.claim(2, instance_uuid=records.uuid(950))
        self.assert_applied('host1', self.epoch, other)
        self.reserve(3)
        for number in (1, 2, 3):
            begun = self.reservations.begin(wanted(10 + number))
            self.assert_not_activated(begun.id, number=number)

    def test_what_is_not_wanted_any_more_is_refused(self) -> None:
        begun = self.reservations.begin(wanted())
        self.reservations.begin_deletion(begun.id, 'x')
        for end in (
            lambda: None,
            lambda: self.reservations.close(begun.id, ''),
        ):
            end()
            self.assert_not_activated(begun.id)

    def test_service_that_is_not_as_it_was_gets_nothing(self) -> None:
        begun = self.reservations.begin(wanted())
        old = self.epoch
        new = self.register('host1')

        def refused(
            epoch: int, error: type[Exception] = exceptions.FencedError
        ) -> None:
            self.assert_not_activated(begun.id, error, epoch)

        refused(old)
        self.records.set_service('host1', actor=ACTOR, disabled=True)
        refused(new, exceptions.ServiceRefusedError)
        self.records.set_service(
            'host1', actor=ACTOR, disabled=False, forced_down=True
        )
        refused(new)
        refused(self.service('host1').epoch)
        self.records.delete_service('host1', actor=ACTOR)
        refused(new)


class EndContract(ReservationContract):
    """Confirmation, deletion and closing."""

    def test_confirmed_one_does_not_expire(self) -> None:
        begun = self.reservations.begin(wanted(), lifetime=60)
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
                (DELETING, 'not wanted'),
                (found.state, found.detail),
            )
        self.assertEqual(before, self.state())

    def test_deletion_of_what_has_changed_since_is_refused(self) -> None:
        begun = self.reservations.begin(wanted(), lifetime=1)
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
        self.assertEqual((DELETING, 'y'), (taken.state, taken.detail))
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
                (ACTIVE, True, None),
                (kept.state, kept.confirmed, kept.expires_at),
            )

    def test_only_what_was_active_is_active_again(self) -> None:
        begun = self.reservations.begin(wanted())
        self.assertIs(PENDING, self.reservations.keep(begun.id, 'x').state)
        self.reservations.begin_deletion(begun.id, 'x')
        self.assertIs(DELETING, self.reservations.keep(begun.id, 'x').state)
        self.reservations.close(begun.id, 'x')
        self.assertIs(CLOSED, self.reservations.keep(begun.id, 'x').state)

    def test_closed_one_frees_the_node_in_one_event(self) -> None:
        made = self.reserve()
        closed = self.reservations.close(made.id, 'deleted', origin=ORIGIN)
        self.assertEqual((CLOSED, 'deleted'), (closed.state, closed.detail))
        self.assertEqual((None, None), (self.owner(1), self.instance(1)))
        self.assertEqual(
            (
                ACTOR,
                'node_released',
                'host1',
                None,
                INSTANCE,
                made.id,
                'req-reservation',
            ),
            self.last_event(),
        )
        self.assertEqual(['node_reserved', 'node_released'], self.kinds(1))
        self.assertIsNone(self.reservations.of_instance(INSTANCE))
        self.assertEqual([], list(self.reservations.reservations()))
        self.assertEqual(closed, self.reservations.find(made.id))

    def test_pause_holds_what_a_service_would_end(self) -> None:
        """The node would change owner; a client's request is no automatism."""
        held, close = self.reserve(), self.reservations.close
        self.records.begin_pause(ORIGIN, 600.0, 'cables')
        conflict = exceptions.ReservationConflictError
        self.assert_nothing_changes(
            conflict,
            *(self.reservations.begin_deletion, held.id, 'expired'),
            epoch=self.epoch,
        )
        begun = self.reservations.begin_deletion(held.id, 'deleted')
        self.assert_nothing_changes(
            conflict, close, begun.id, 'expired', epoch=self.epoch
        )
        self.assertIs(CLOSED, close(begun.id, 'deleted').state)

    def test_second_close_changes_nothing(self) -> None:
        made = self.reserve()
        closed = self.reservations.close(made.id, 'deleted')
        before = self.state()
        self.assertEqual(closed, self.reservations.close(made.id, 'again'))
        self.assertEqual(
            closed, self.reservations.begin_deletion(made.id, 'again')
        )
        self.assertEqual(before, self.state())

    def test_node_is_released_unless_it_is_anothers_by_now(self) -> None:
        two = self.register('host2')
        made = [self.reserve(number) for number in (1, 2, 3)]
        other = records.uuid(950)
        for host, epoch, change in (
            # Its instance went before.
            ('host1', self.epoch, Update(records.node(1))),
            (
                'host1',
                self.epoch,
                Update(records.node(2, instance_uuid=other)),
            ),
            ('host1', self.epoch, Update(records.node(3))),
            ('host1', self.epoch, Release(records.uuid(3))),
            ('host2', two, records.claim(3)),
        ):
            self.assert_applied(host, epoch, change)
        for one in made:
            self.reservations.close(one.id, 'gone')
        self.assertEqual(
            [(None, None), ('host1', other), ('host2', None)],
            [(self.owner(n), self.instance(n)) for n in (1, 2, 3)],
        )

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
            dataclasses.replace(wanted(3), host='host2')
        )
        closed = self.reservations.close(second.id, 'x')
        listed = self.reservations.reservations
        self.assertEqual([first, third], list(listed()))
        self.assertEqual([third], list(listed(host='host2')))
        self.assertEqual([closed], list(listed(states=[CLOSED])))
        self.assertEqual([first], list(listed(limit=1)))
        self.assertEqual([third], list(listed(marker=first.id)))
        self.assertEqual([], list(listed(states=[])))

    def test_list_behind_one_that_was_purged_is_not_empty(self) -> None:
        self.reserve(1)
        with self.assertRaises(exceptions.NotFoundError):
            self.reservations.reservations(marker=records.uuid(9))


class MovedReservationContract(ReservationContract):
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
