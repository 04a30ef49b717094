"""Laws of the reservations on record: their beginning, use and end."""

from __future__ import annotations

import dataclasses
import time
from concurrent import futures
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import events, exceptions, reasons
from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.contracts.records import Delete, Release, Update
from ironic_ownership.contracts.reservations import (
    Request,
    Reservation,
    ReservationState,
)
from ironic_ownership.db import tables
from tests.contract.suites.records import RecordsContract, claim, node, uuid

ACTOR = 'operator@somewhere'
ORIGIN = events.Origin(ACTOR, 'req-reservation')
INSTANCE = uuid(901)
PENDING, ACTIVE = ReservationState.PENDING, ReservationState.ACTIVE
DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED
CONFLICT = exceptions.ReservationConflictError


def wanted(number: int = 1, **values: Any) -> Reservation:
    """Return a reservation that begins; its instance has number + 900."""
    data = {
        'instance_uuid': uuid(900 + number),
        'service': 'host1',
        'resource_class': 'gold',
        'traits': ['CUSTOM_A'],
        **values.pop('request', {}),
    }
    asked = Request.from_mapping(data)
    made = Reservation(uuid(500 + number), asked.instance_uuid, 'host1', asked)
    return dataclasses.replace(made, **values)


class ReservationContract(RecordsContract):
    """A reservation on record, from its beginning to its end."""

    def setUp(self) -> None:
        super().setUp()
        self.reservations = self.make_reservations()
        self.epoch = self.register('host1')

    def begin(self, number: int = 1, **values: Any) -> Reservation:
        return self.reservations.begin(wanted(number, **values))

    def activate(
        self,
        reservation_id: str,
        number: int = 1,
        epoch: int | None = None,
        **options: Any,
    ) -> Reservation:
        """Give it the node of that number, under the current epoch."""
        epoch = self.epochs['host1'] if epoch is None else epoch
        return self.reservations.activate(
            reservation_id, node(number), epoch=epoch, **options
        )

    def reserve(self, number: int = 1) -> Reservation:
        """Record a reservation of the node of that number."""
        return self.activate(self.begin(number).id, number, origin=ORIGIN)

    def assert_nothing_changes(
        self, error: type[Exception], call: Any, *arguments: Any, **values: Any
    ) -> None:
        before = self.state(), self.everything()
        with self.assertRaises(error):
            call(*arguments, **values)
        self.assertEqual(before, (self.state(), self.everything()))

    def everything(self) -> list[Reservation]:
        return [*self.reservations.reservations(states=[*ReservationState])]


class BeginningContract(ReservationContract):
    """Beginning of a reservation."""

    def test_begun_reservation_is_read_as_it_was_asked_for(self) -> None:
        specs = {f'{n:04d}{"x" * 251}': 'é' * 255 for n in range(1000)}
        asked = wanted(
            request={
                'memory_mb': 1024,
                'extra_specs': {'capabilities': 'a,b', **specs},
                'image': {'id': 'x', 'properties': {'p': 'é'}},
            },
        )
        begun = self.reservations.begin(asked, lifetime=60)
        at, end = begun.created_at or 0.0, begun.expires_at or 0.0
        times = {'created_at': at, 'updated_at': at, 'expires_at': end}
        self.assertEqual(dataclasses.replace(asked, **times), begun)
        self.assertAlmostEqual(self.reservations.now(), at, delta=3600)
        self.assertAlmostEqual(60, end - at)
        self.assertEqual(begun, self.reservations.find(begun.id))
        self.assertEqual(begun, self.reservations.of_instance(INSTANCE))
        self.assertEqual([begun], list(self.reservations.reservations()))
        self.assertIsNone(self.begin(2).expires_at)

    def test_instance_has_one_open_reservation(self) -> None:
        first = self.begin()
        self.assertEqual(first, self.begin(id=uuid(599), host='host2'))
        self.assertEqual([first], self.everything())
        self.reservations.close(first.id, 'no match')
        self.begin(id=uuid(599))
        found = [(one.id, one.state) for one in self.everything()]
        self.assertEqual([(first.id, CLOSED), (uuid(599), PENDING)], found)
        # One can begin with its end.
        self.assertIs(DELETING, self.begin(2, state=DELETING).state)

    def test_of_many_at_once_one_is_begun(self) -> None:
        def begin(number: int) -> str:
            asked = wanted(id=uuid(600 + number))
            return self.make_reservations().begin(asked).id

        with futures.ThreadPoolExecutor(4) as pool:
            found = set(pool.map(begin, range(4)))
        self.assertEqual(found, {one.id for one in self.everything()})
        self.assertEqual(1, len(found))

    def test_unknown_one_is_not_found(self) -> None:
        unknown = uuid(777)
        self.assertIsNone(self.reservations.find(unknown))
        self.assertIsNone(self.reservations.of_instance(unknown))
        for call, *arguments in (
            (self.reservations.confirm,),
            (self.reservations.begin_deletion, 'x'),
            (self.reservations.keep, 'x'),
            (self.reservations.close, 'x'),
            (self.activate,),
        ):
            self.assert_nothing_changes(
                exceptions.NotFoundError, call, unknown, *arguments
            )


class ActivationContract(ReservationContract):
    """Records of an allocated node."""

    def test_service_owns_the_node_and_its_instance_in_one_event(self) -> None:
        made = self.reserve()
        self.assert_has(made, state=ACTIVE, node_uuid=uuid(1), confirmed=False)
        self.assert_has(
            self.record(1),
            host='host1',
            instance_uuid=INSTANCE,
            reason=reasons.Reason.RESERVED,
            name='node-1',
        )
        (event,) = self.events(node_uuid=uuid(1))
        self.assert_has(
            event,
            actor=ACTOR,
            kind='node_reserved',
            from_host=None,
            to_host='host1',
            instance_uuid=INSTANCE,
            reason=made.id,
            request_id=ORIGIN.request_id,
        )
        before = self.state()
        self.assertEqual(made, self.activate(made.id))
        self.assertEqual(before, self.state())

    def test_service_itself_writes_when_no_actor_is_named(self) -> None:
        self.activate(self.begin().id)
        self.assert_event(1, actor='host1', request_id=None)

    def test_release_that_has_lapsed_ends(self) -> None:
        held = {'held_by': 'req-move', 'held_until': 1.0}
        nodes = tables.compute_nodes
        columns = nodes.c.released_by, nodes.c.held_by, nodes.c.held_until
        self.applied('host1', claim(1), Release(uuid(1)))
        database = self.records._database
        database.write(lambda conn: conn.execute(nodes.update().values(held)))
        self.reserve()
        (row,) = database.select(sa.select(*columns), tuple)
        self.assertEqual((None, None, None), row)

    def test_node_of_the_service_or_of_none_can_be_reserved(self) -> None:
        for number, *before in (
            (1, claim(1)),
            # Its instance was seen before.
            (2, claim(2, instance_uuid=uuid(902))),
            (3, claim(3), Release(uuid(3))),
            (4, claim(4), Delete(uuid(4))),
        ):
            self.applied('host1', *before)
            self.reserve(number)
            self.assert_has(
                self.record(number),
                host='host1',
                instance_uuid=uuid(900 + number),
            )

    def test_node_of_another_service_or_instance_is_refused(self) -> None:
        self.register('host2')
        self.applied('host2', claim(1))
        self.applied('host1', claim(2, instance_uuid=uuid(950)))
        self.reserve(3)
        for number in (1, 2, 3):
            begun = self.begin(10 + number)
            self.assert_nothing_changes(
                CONFLICT, self.activate, begun.id, number
            )

    def test_what_is_not_wanted_any_more_is_refused(self) -> None:
        begun = self.begin()
        for end in self.reservations.begin_deletion, self.reservations.close:
            end(begun.id, 'x')
            self.assert_nothing_changes(CONFLICT, self.activate, begun.id)

    def test_service_that_is_not_as_it_was_gets_nothing(self) -> None:
        begun = self.begin()
        old = self.epoch
        new = self.register('host1')

        fenced = exceptions.FencedError
        for values, epoch, error in (
            ({}, old, fenced),
            ({'disabled': True}, new, exceptions.ServiceRefusedError),
            ({'disabled': False, 'forced_down': True}, new, fenced),
            ({}, new + 1, fenced),
        ):
            self.records.set_service('host1', actor=ACTOR, **values)
            self.assert_nothing_changes(
                error, self.activate, begun.id, epoch=epoch
            )
        self.records.delete_service('host1', actor=ACTOR)
        self.assert_nothing_changes(fenced, self.activate, begun.id)


class EndContract(ReservationContract):
    """Confirmation, deletion and closing."""

    def test_confirmed_one_does_not_expire(self) -> None:
        begun = self.reservations.begin(wanted(), lifetime=60)
        confirm = self.reservations.confirm
        self.assert_nothing_changes(CONFLICT, confirm, begun.id)
        self.activate(begun.id)
        for _ in range(2):
            self.assert_has(confirm(begun.id), confirmed=True, expires_at=None)

    def test_deletion_can_be_taken_back(self) -> None:
        made = self.reserve()
        before = self.state()
        for _ in range(2):
            deleting = self.reservations.begin_deletion(made.id, 'not wanted')
            self.assert_has(deleting, state=DELETING, detail='not wanted')
        for _ in range(2):
            self.assert_has(
                self.reservations.keep(made.id, 'deployed'),
                state=ACTIVE,
                confirmed=True,
                expires_at=None,
            )
        self.assertEqual(before, self.state())

    def test_deletion_of_what_has_changed_since_is_refused(self) -> None:
        begun = self.reservations.begin(wanted(), lifetime=1)
        made = self.activate(begun.id)
        self.reservations.confirm(made.id)
        delete = self.reservations.begin_deletion
        for seen in (begun, made):
            self.assert_nothing_changes(
                CONFLICT, delete, made.id, 'expired', seen=seen
            )

    def test_deletion_is_taken_over_by_one_only(self) -> None:
        made, delete = self.reserve(), self.reservations.begin_deletion
        seen = delete(made.id, 'x')
        time.sleep(0.01)  # as long as the coarsest clock of a database
        taken = delete(made.id, 'y', seen=seen)
        self.assert_has(taken, state=DELETING, detail='y')
        self.assert_nothing_changes(CONFLICT, delete, made.id, 'z', seen=seen)

    def test_only_what_was_active_is_active_again(self) -> None:
        begun, keep = self.begin(), self.reservations.keep
        self.assertIs(PENDING, keep(begun.id, 'x').state)
        self.reservations.begin_deletion(begun.id, 'x')
        self.assertIs(DELETING, keep(begun.id, 'x').state)
        self.reservations.close(begun.id, 'x')
        self.assertIs(CLOSED, keep(begun.id, 'x').state)

    def test_closed_one_frees_the_node_in_one_event(self) -> None:
        made = self.reserve()
        closed = self.reservations.close(made.id, 'deleted', origin=ORIGIN)
        self.assert_has(closed, state=CLOSED, detail='deleted')
        self.assert_has(self.record(1), host=None, instance_uuid=None)
        self.assertEqual(['node_reserved', 'node_released'], self.kinds(1))
        self.assert_event(
            1,
            actor=ACTOR,
            from_host='host1',
            to_host=None,
            instance_uuid=INSTANCE,
            reason=made.id,
            request_id=ORIGIN.request_id,
        )
        self.assertIsNone(self.reservations.of_instance(INSTANCE))
        self.assertEqual([], list(self.reservations.reservations()))
        self.assertEqual(closed, self.reservations.find(made.id))
        before = self.state()
        for end in self.reservations.close, self.reservations.begin_deletion:
            self.assertEqual(closed, end(made.id, 'again'))
        self.assertEqual(before, self.state())

    def test_pause_holds_what_a_service_would_end(self) -> None:
        """The node would change owner; a client's request is no automatism."""
        held = self.reserve()
        self.records.begin_pause(ORIGIN, 600.0, 'cables')
        for end in self.reservations.begin_deletion, self.reservations.close:
            self.assert_nothing_changes(
                CONFLICT, end, held.id, 'expired', epoch=self.epoch
            )
            found = end(held.id, 'deleted')
        self.assertIs(CLOSED, found.state)

    def test_node_is_released_unless_it_is_anothers_by_now(self) -> None:
        self.register('host2')
        made, other = [self.reserve(n) for n in (1, 2, 3, 4)], uuid(950)
        self.applied(
            'host1',
            # Its instance went before.
            Update(node(1)),
            Update(node(2, instance_uuid=other)),
            *(Update(node(3)), Release(uuid(3))),
            *(Update(node(4)), Release(uuid(4))),
        )
        self.applied('host2', claim(3))
        for one in made:
            self.reservations.close(one.id, 'gone')
        released = self.events('node_released')
        self.assertEqual([uuid(1)], [event.node_uuid for event in released])
        self.assertEqual(
            [(None, None), ('host1', other), ('host2', None)],
            [(self.owner(n), self.instance(n)) for n in (1, 2, 3)],
        )

    def test_service_without_a_right_writes_nothing(self) -> None:
        made = self.reserve()
        self.register('host1')
        for end in self.reservations.begin_deletion, self.reservations.close:
            self.assert_nothing_changes(
                exceptions.FencedError, end, made.id, 'x', epoch=self.epoch
            )

    def test_reservations_are_listed_by_service_state_and_place(self) -> None:
        first, second = self.reserve(1), self.reserve(2)
        third = self.begin(3, host='host2')
        closed = self.reservations.close(second.id, 'x')
        for chosen, expected in (
            ({}, [first, third]),
            ({'host': 'host2'}, [third]),
            ({'states': [CLOSED]}, [closed]),
            ({'states': []}, []),
            ({'limit': 1}, [first]),
            ({'marker': first.id}, [third]),
        ):
            found = self.reservations.reservations(**chosen)
            self.assertEqual(expected, list(found), chosen)
        # A list behind one that was purged is not empty.
        with self.assertRaises(exceptions.NotFoundError):
            self.reservations.reservations(marker=uuid(9))


class MovedReservationContract(ReservationContract):
    """Effect of a move on a reservation."""

    def move(self, number: int, destination: str) -> None:
        """Have an operator move a node, and its instance."""
        source = self.records.set_service(
            'host1', actor='operator', forced_down=True
        )
        seen = NodeMove(
            uuid(number), 'host1', source.epoch, self.instance(number)
        )
        moves = self.make_moves()
        moves.plan(Move('req-1', destination, 'operator'), [seen])
        (done,) = moves.carry_out('req-1', [seen])
        self.assertIs(NodeState.MOVED, done.state, done.detail)

    def test_reservation_follows_its_node(self) -> None:
        closed = self.reserve()
        self.reservations.close(closed.id, 'x')
        made = self.begin(id=uuid(599))
        self.activate(made.id)
        self.register('host2')
        self.move(1, 'host2')
        # What has ended stays what it was.
        hosts = {one.id: one.host for one in self.everything()}
        self.assertEqual({closed.id: 'host1', made.id: 'host2'}, hosts)
        self.reservations.close(made.id, 'x')
        self.assertIsNone(self.owner(1))
