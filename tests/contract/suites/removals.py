"""Deletions by operators, in every implementation of the records."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.events import EventFilter, Origin
from ironic_ownership.contracts.records import (
    BeginDeletion,
    Delete,
    Release,
    Report,
    SeenOwner,
    Update,
)
from ironic_ownership.engine.ports import Removals
from tests.contract.suites import records

ACTOR = 'operator@somewhere'
BY = Origin(ACTOR, reason='burnt')
INSTANCE = records.uuid(901)


class RemovalContract(records.RecordsContract):
    """Deletions by an operator, and their effect on the owner."""

    def make_removals(self) -> Removals:
        """Return an access to the same database as this test's records."""
        raise NotImplementedError

    def setUp(self) -> None:
        super().setUp()
        self.removals = self.make_removals()
        self.epoch = self.register('host1')
        self.assert_applied('host1', self.epoch, records.claim(1))

    def remove(self, number: int = 1, **seen: object) -> bool:
        self.begin(number, **seen)
        return self.removals.remove(
            records.uuid(number), self.seen(**seen), BY
        )

    def begin(self, number: int = 1, **seen: object) -> str | None:
        return self.removals.begin_deletion(
            records.uuid(number), self.seen(**seen)
        )

    def seen(self, **seen: object) -> SeenOwner:
        values = {'host': 'host1', 'epoch': self.epoch, **seen}
        return SeenOwner(**values)  # type: ignore[arg-type]

    def test_begun_deletion_is_on_record_with_the_owner(self) -> None:
        self.assert_applied('host1', self.epoch, Report(records.uuid(1), 'a'))
        before = self.kinds(1)
        self.assertIsNone(self.begin())
        found = self.find(1)
        assert found is not None
        self.assertEqual(
            ('host1', reasons.Reason.BEING_DELETED, None),
            (found.host, found.reason, found.placement_digest),
        )
        self.assertEqual(before, self.kinds(1))

    def test_deletion_that_is_impossible_does_not_begin(self) -> None:
        two = self.register('host2')
        update = Update(records.node(1, instance_uuid=records.uuid(901)))
        before = self.state()
        for seen in (
            {'host': 'host2', 'epoch': two},
            {'host': None, 'epoch': None},
            {'epoch': None},
        ):
            self.assertIn('changed', self.begin(**seen) or '')
        self.assertEqual(before, self.state())
        self.assert_applied('host1', self.epoch, update)
        before = self.state()
        self.assertIn('changed', self.begin() or '')
        self.assert_refused('host1', self.epoch, BeginDeletion(update.uuid))
        self.assertEqual(before, self.state())

    def test_record_is_claimed_by_none_but_who_sees_the_node_again(
        self,
    ) -> None:
        for kind in ('operator', 'owner'):
            if kind == 'operator':
                self.assertIsNone(self.begin())
            else:
                begins = BeginDeletion(records.uuid(1))
                self.assert_applied('host1', self.epoch, begins)
            # Of a service that has read Ironic before.
            claim = records.claim(1, seen_host='host1')
            self.assert_refused('host1', self.epoch, claim)
            sees = dataclasses.replace(claim, seen_deletion=True)
            self.assert_applied('host1', self.epoch, sees)
            found = self.find(1)
            assert found is not None
            self.assertIs(reasons.Reason.EXCLUSIVE, found.reason)
            # The deletion has ended, so its last step changes nothing.
            self.assertIs(
                False,
                self.removals.remove(records.uuid(1), self.seen(), BY),
            )
            self.assertIsNotNone(self.find(1))

    def assert_nothing_is_removed(
        self, number: int = 1, **seen: object
    ) -> None:
        before = self.state()
        self.assertIs(False, self.remove(number, **seen))
        self.assertEqual(before, self.state())

    def test_removed_record_is_gone_with_one_event_of_the_operator(
        self,
    ) -> None:
        self.assertIs(True, self.remove())
        self.assertIsNone(self.find(1))
        event = self.records.events(EventFilter(node_uuid=records.uuid(1)))[0]
        self.assertEqual(
            (ACTOR, 'node_forgotten', 'host1', None, 'node_gone; burnt'),
            (
                event.actor,
                event.kind,
                event.from_host,
                event.to_host,
                event.reason,
            ),
        )
        self.assertEqual(['owner_changed', 'node_forgotten'], self.kinds(1))

    def test_second_removal_changes_nothing(self) -> None:
        self.remove()
        self.assert_nothing_is_removed()
        self.assert_nothing_is_removed(host=None, epoch=None)

    def test_record_of_another_owner_stays(self) -> None:
        two = self.register('host2')
        self.assert_nothing_is_removed(host='host2', epoch=two)
        self.assert_nothing_is_removed(host=None, epoch=None)

    def test_owner_that_registered_again_keeps_its_record(self) -> None:
        again = self.register('host1')
        self.assert_nothing_is_removed()
        self.assertIs(True, self.remove(epoch=again))

    def test_epoch_has_to_be_known(self) -> None:
        self.assert_nothing_is_removed(epoch=None)

    def test_node_with_an_instance_stays(self) -> None:
        self.assert_applied(
            'host1',
            self.epoch,
            Update(records.node(1, instance_uuid=records.uuid(901))),
        )
        self.assert_nothing_is_removed()

    def test_unowned_record_is_removed(self) -> None:
        self.assert_applied('host1', self.epoch, Release(records.uuid(1)))
        self.assert_nothing_is_removed()
        self.assertIs(True, self.remove(host=None, epoch=None))
        self.assertIsNone(self.find(1))

    def test_unknown_node_is_not_removed(self) -> None:
        self.assert_nothing_is_removed(2)
        self.assert_nothing_is_removed(2, host=None, epoch=None)
        self.assert_nothing_is_removed(host='host9', epoch=None)

    def test_owner_keeps_its_right_to_write_but_not_for_that_node(
        self,
    ) -> None:
        self.assert_applied('host1', self.epoch, records.claim(2))
        self.remove()
        self.assert_applied(
            'host1', self.epoch, Update(records.node(2, name='other'))
        )
        self.assert_refused(
            'host1',
            self.epoch,
            Update(records.node(1)),
            Release(records.uuid(1)),
            Delete(records.uuid(1)),
        )

    def test_node_that_returns_gets_its_record_back(self) -> None:
        self.assert_applied('host1', self.epoch, Report(records.uuid(1), 'a'))
        self.remove()
        two = self.register('host2')
        self.assert_applied('host2', two, records.claim(1, name='again'))
        found = self.find(1)
        assert found is not None
        self.assertEqual(
            ('host2', 'again', reasons.Reason.EXCLUSIVE, None),
            (
                found.host,
                found.name,
                found.reason,
                found.placement_digest,
            ),
        )
        self.assertIsInstance(found, model.ComputeNode)

    def deploy(self) -> None:
        node = records.node(1, instance_uuid=INSTANCE)
        self.assert_applied('host1', self.epoch, Update(node))

    def forget(self, instance: str = INSTANCE, **seen: object) -> str | None:
        return self.removals.forget_instance(
            records.uuid(1), instance, self.seen(**seen), BY
        )

    def assert_nothing_is_forgotten(
        self, text: str, instance: str = INSTANCE, **seen: object
    ) -> None:
        before = self.state()
        self.assertIn(text, self.forget(instance, **seen) or '')
        self.assertEqual(before, self.state())

    def test_forgotten_instance_is_closed_with_one_event(self) -> None:
        self.deploy()
        self.assertIsNone(self.forget())
        found = self.find(1)
        assert found is not None
        self.assertEqual(('host1', None), (found.host, found.instance_uuid))
        event = self.records.events(EventFilter(node_uuid=records.uuid(1)))[0]
        self.assertEqual(
            (ACTOR, 'instance_forgotten', 'host1', INSTANCE, 'burnt'),
            (
                event.actor,
                event.kind,
                event.from_host,
                event.instance_uuid,
                event.reason,
            ),
        )
        self.assertIs(True, self.remove())

    def test_instance_is_forgotten_once(self) -> None:
        self.deploy()
        self.forget()
        self.assert_nothing_is_forgotten('now none')

    def test_other_instance_or_owner_is_an_objection(self) -> None:
        self.deploy()
        two = self.register('host2')
        self.assert_nothing_is_forgotten(INSTANCE, records.uuid(902))
        for seen in (
            {'host': 'host2', 'epoch': two},
            {'host': None, 'epoch': None},
            {'epoch': None},
        ):
            self.assert_nothing_is_forgotten('changed', **seen)
        self.register('host1')
        self.assert_nothing_is_forgotten('changed')
