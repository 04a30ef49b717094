"""Deletions by operators, in every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import (
    BeginDeletion,
    Delete,
    Release,
    Report,
    SeenOwner,
    Update,
)
from tests.contract.suites.records import RecordsContract, claim, node, uuid

BY = Origin('operator@somewhere', reason='burnt')
INSTANCE = uuid(901)
DEPLOYED = Update(node(1, instance_uuid=INSTANCE))
UNOWNED = SeenOwner(None, None)


class RemovalContract(RecordsContract):
    """Deletions by an operator, and their effect on the owner."""

    def setUp(self) -> None:
        super().setUp()
        self.seen = SeenOwner('host1', self.register('host1'))
        self.applied('host1', claim(1))

    def others(self) -> list[SeenOwner]:
        """Return what the owner of a node of ``host1`` is not."""
        changed = SeenOwner('host2', self.register('host2'))
        return [changed, UNOWNED, SeenOwner('host1', None)]

    def begin(self, seen: SeenOwner | None = None) -> str | None:
        return self.records.begin_deletion(uuid(1), seen or self.seen)

    def remove(self, seen: SeenOwner | None = None, number: int = 1) -> bool:
        seen = seen or self.seen
        self.records.begin_deletion(uuid(number), seen)
        return self.records.remove(uuid(number), seen, BY)

    def assert_nothing_is_removed(
        self, seen: SeenOwner | None = None, number: int = 1
    ) -> None:
        before = self.state()
        self.assertIs(False, self.remove(seen, number))
        self.assertEqual(before, self.state())

    def test_begun_deletion_is_on_record_with_the_owner(self) -> None:
        self.applied('host1', Report(uuid(1), 'a'))
        before = self.kinds(1)
        self.assertIsNone(self.begin())
        self.assert_has(
            self.record(1),
            host='host1',
            reason=Reason.BEING_DELETED,
            placement_digest=None,
        )
        self.assertEqual(before, self.kinds(1))

    def test_deletion_that_is_impossible_does_not_begin(self) -> None:
        for seen in self.others():
            before = self.state()
            self.assertIn('changed', self.begin(seen) or '')
            self.assert_nothing_is_removed(seen)
            self.assertEqual(before, self.state())
        self.applied('host1', DEPLOYED)
        before = self.state()
        self.assertIn('changed', self.begin() or '')
        self.assert_nothing_is_removed()
        self.refused('host1', BeginDeletion(uuid(1)))
        self.assertEqual(before, self.state())

    def test_record_is_claimed_by_none_but_who_sees_the_node_again(
        self,
    ) -> None:
        for kind in ('operator', 'owner'):
            if kind == 'operator':
                self.assertIsNone(self.begin())
            else:
                self.applied('host1', BeginDeletion(uuid(1)))
            # Of a service that has read Ironic before.
            self.refused('host1', claim(1, seen_host='host1'))
            sees = claim(1, seen_host='host1', seen_deletion=True)
            self.applied('host1', sees)
            self.assertIs(Reason.EXCLUSIVE, self.record(1).reason)
            # The deletion has ended, so its last step changes nothing.
            self.assertIs(False, self.records.remove(uuid(1), self.seen, BY))
            self.assertIsNotNone(self.find(1))

    def test_removed_record_is_gone_with_one_event_of_the_operator(
        self,
    ) -> None:
        self.applied('host1', claim(2))
        self.assertIs(True, self.remove())
        self.assertIsNone(self.find(1))
        self.assertEqual(['owner_changed', 'node_forgotten'], self.kinds(1))
        self.assert_event(
            1,
            actor=BY.actor,
            from_host='host1',
            to_host=None,
            reason='node_gone; burnt',
        )
        self.assert_nothing_is_removed()
        self.assert_nothing_is_removed(UNOWNED)
        # The owner keeps its right to write, but not for that node.
        self.applied('host1', Update(node(2, name='other')))
        changes = Update(node(1)), Release(uuid(1)), Delete(uuid(1))
        self.refused('host1', *changes)

    def test_owner_that_registered_again_keeps_its_record(self) -> None:
        again = SeenOwner('host1', self.register('host1'))
        self.assert_nothing_is_removed()
        self.assertIs(True, self.remove(again))

    def test_unowned_record_is_removed(self) -> None:
        self.applied('host1', Release(uuid(1)))
        self.assert_nothing_is_removed()
        self.assertIs(True, self.remove(UNOWNED))
        self.assertIsNone(self.find(1))

    def test_unknown_node_is_not_removed(self) -> None:
        self.assert_nothing_is_removed(number=2)
        self.assert_nothing_is_removed(UNOWNED, number=2)
        self.assert_nothing_is_removed(SeenOwner('host9', None))

    def test_node_that_returns_gets_its_record_back(self) -> None:
        self.applied('host1', Report(uuid(1), 'a'))
        self.remove()
        self.register('host2')
        self.applied('host2', claim(1, name='again'))
        self.assert_has(
            self.record(1),
            host='host2',
            name='again',
            reason=Reason.EXCLUSIVE,
            placement_digest=None,
        )

    def assert_nothing_is_forgotten(
        self,
        text: str,
        instance: str = INSTANCE,
        seen: SeenOwner | None = None,
    ) -> None:
        before = self.state()
        found = self.records.forget_instance(
            uuid(1), instance, seen or self.seen, BY
        )
        self.assertIn(text, found or '')
        self.assertEqual(before, self.state())

    def test_forgotten_instance_is_closed_once_with_one_event(self) -> None:
        self.applied('host1', DEPLOYED)
        forget = self.records.forget_instance
        self.assertIsNone(forget(uuid(1), INSTANCE, self.seen, BY))
        self.assert_has(self.record(1), host='host1', instance_uuid=None)
        self.assert_event(
            1,
            actor=BY.actor,
            kind='instance_forgotten',
            from_host='host1',
            instance_uuid=INSTANCE,
            reason='burnt',
        )
        self.assert_nothing_is_forgotten('now none')
        self.assertIs(True, self.remove())

    def test_other_instance_or_owner_is_an_objection(self) -> None:
        self.applied('host1', DEPLOYED)
        self.assert_nothing_is_forgotten(INSTANCE, uuid(902))
        for seen in self.others():
            self.assert_nothing_is_forgotten('changed', seen=seen)
        self.register('host1')
        self.assert_nothing_is_forgotten('changed')
