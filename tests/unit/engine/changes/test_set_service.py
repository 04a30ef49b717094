from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.events import Origin
from ironic_ownership.engine.changes.services import (
    SetService,
    Settings,
)
from tests.unit.engine import service


class TestSetService(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.start('host1')
        self.operation = SetService(self.records)

    def test_proposal_writes_nothing(self) -> None:
        before = self.state()
        change = self.operation.propose(
            'HOST1', Settings(disabled=True, forced_down=True)
        )
        self.assertEqual(['disabled', 'forced_down'], change.changed)
        self.assertTrue(change.after.fenced)
        self.assertEqual(change.before.epoch + 1, change.after.epoch)
        self.assertEqual(before, self.state())

    def test_execution_makes_the_proposed_change_in_one_event(self) -> None:
        wanted = Settings(disabled=True, disabled_reason='new fans')
        proposed = self.operation.propose('host1', wanted)
        done = self.operation.execute(proposed, Origin('operator'))
        self.assertEqual(proposed.after, done.after)
        self.assertEqual([done.after], self.records.services())
        event = self.records.events(limit=1)[0]
        self.assertEqual(
            ('operator', 'service_changed'), (event.actor, event.kind)
        )

    def test_repetition_writes_nothing(self) -> None:
        for _ in range(2):
            proposed = self.operation.propose('host1', Settings(disabled=True))
            self.operation.execute(proposed, Origin('operator'))
        self.assertEqual([], proposed.changed)
        kinds = [event.kind for event in self.records.events()]
        self.assertEqual(1, kinds.count('service_changed'))

    def test_unknown_service_has_a_hint(self) -> None:
        with self.assertRaisesRegex(exceptions.NotFoundError, 'mean host1'):
            self.operation.propose('hsot1', Settings(disabled=True))
