"""Laws of the activation of a reservation."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions, reasons
from ironic_ownership.contracts.records import Forget, Release
from tests.contract.suites import records, reservations


class ActivationContract(reservations.ReservationContract):
    """Records of an allocated node."""

    def test_service_owns_the_node_and_its_instance_in_one_event(self) -> None:
        made = self.reserve()
        self.assertEqual(
            (reservations.ACTIVE, records.uuid(1), False),
            (made.state, made.node_uuid, made.confirmed),
        )
        found = self.find(1)
        assert found is not None
        self.assertEqual(
            (
                'host1',
                reservations.INSTANCE,
                reasons.Reason.RESERVED,
                'node-1',
            ),
            (found.host, found.instance_uuid, found.reason, found.name),
        )
        self.assertEqual(
            (
                reservations.ACTOR,
                'node_reserved',
                None,
                'host1',
                reservations.INSTANCE,
                made.id,
                'req-reservation',
            ),
            self.last_event(),
        )
        self.assertEqual(['node_reserved'], self.kinds(1))

    def test_service_itself_writes_when_no_actor_is_named(self) -> None:
        begun = self.reservations.begin(reservations.wanted())
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

    def test_node_that_the_service_owns_already_can_be_reserved(self) -> None:
        self.assert_applied('host1', self.epoch, records.claim(1))
        self.reserve()
        self.assertEqual(
            ('host1', reservations.INSTANCE), (self.owner(1), self.instance(1))
        )

    def test_instance_that_was_seen_before_stays_the_same(self) -> None:
        self.assert_applied(
            'host1',
            self.epoch,
            records.claim(1, instance_uuid=reservations.INSTANCE),
        )
        self.reserve()
        self.assertEqual(
            ('host1', reservations.INSTANCE), (self.owner(1), self.instance(1))
        )

    def test_node_that_was_released_or_forgotten_can_be_reserved(self) -> None:
        for number, change in (
            (1, Release(records.uuid(1))),
            (2, Forget(records.uuid(2))),
        ):
            self.assert_applied('host1', self.epoch, records.claim(number))
            self.assert_applied('host1', self.epoch, change)
            self.reserve(number)
            self.assertEqual('host1', self.owner(number))

    def test_node_of_another_service_is_refused(self) -> None:
        two = self.register('host2')
        self.assert_applied('host2', two, records.claim(1))
        begun = self.reservations.begin(reservations.wanted())
        self.assert_not_activated(begun.id)

    def test_node_with_another_instance_is_refused(self) -> None:
        self.assert_applied(
            'host1',
            self.epoch,
            records.claim(1, instance_uuid=records.uuid(950)),
        )
        begun = self.reservations.begin(reservations.wanted())
        self.assert_not_activated(begun.id)

    def test_two_instances_do_not_get_one_node(self) -> None:
        self.reserve()
        begun = self.reservations.begin(reservations.wanted(2))
        self.assert_not_activated(begun.id)

    def test_what_is_not_wanted_any_more_is_refused(self) -> None:
        begun = self.reservations.begin(reservations.wanted())
        self.reservations.begin_deletion(begun.id, 'x')
        for end in (
            lambda: None,
            lambda: self.reservations.close(begun.id, ''),
        ):
            end()
            self.assert_not_activated(begun.id)

    def test_service_that_is_not_as_it_was_gets_nothing(self) -> None:
        begun = self.reservations.begin(reservations.wanted())
        old = self.epoch
        new = self.register('host1')

        def refused(
            epoch: int, error: type[Exception] = exceptions.FencedError
        ) -> None:
            self.assert_not_activated(begun.id, error, epoch)

        refused(old)
        self.records.set_service(
            'host1', actor=reservations.ACTOR, disabled=True
        )
        refused(new, exceptions.ServiceRefusedError)
        self.records.set_service(
            'host1', actor=reservations.ACTOR, disabled=False, forced_down=True
        )
        refused(new)
        refused(self.service('host1').epoch)
        self.records.delete_service('host1', actor=reservations.ACTOR)
        refused(new)
