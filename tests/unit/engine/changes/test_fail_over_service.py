from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.events import Origin
from ironic_ownership.engine.changes.services import (
    FAIL_OVER,
    PATIENCE,
    FailOverService,
)
from ironic_ownership.engine.gates import codes
from tests.unit.engine import service


class TestFailOverService(service.ServiceCase):
    """``host1`` is active, with one process standing by."""

    def setUp(self) -> None:
        super().setUp()
        self.active = self.start('host1')
        self.standby = self.start('host1')
        (row,) = self.records.services()
        incarnations = self.active.backend.view().incarnations('host1')
        (self.target,) = incarnations - {row.incarnation}
        self.slept = 0.0
        self.operation = FailOverService(
            self.records,
            self.active.backend,
            clock=lambda: self.slept,
            sleep=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        if self.slept < 1:
            self.standby.beat()

    def refusals(self, wanted: str | None = None) -> list[str]:
        before = self.state()
        proposed = self.operation.propose('HOST1', wanted)
        self.assertIs(
            proposed, self.operation.execute(proposed, Origin('operator'))
        )
        self.assertFalse(proposed.done)
        self.assertEqual(before, self.state())
        return [result.gate for result in proposed.refused]

    def test_proposal_writes_nothing(self) -> None:
        before = self.state()
        proposed = self.operation.propose('HOST1')
        self.assertEqual(self.target, proposed.target)
        self.assertEqual(codes(FAIL_OVER), [r.gate for r in proposed.gates])
        self.assertEqual([], proposed.refused)
        self.assertFalse(proposed.done)
        self.assertEqual(before, self.state())

    def test_standby_becomes_active(self) -> None:
        proposed = self.operation.propose('host1', self.target[:6])
        done = self.operation.execute(proposed, Origin('operator'))
        self.assertTrue(done.done)
        self.assertEqual(self.target, done.after.incarnation)

    def test_standby_that_does_not_register_is_not_waited_for(self) -> None:
        proposed = self.operation.propose('host1')
        self.slept = 1.0
        done = self.operation.execute(proposed, Origin('operator'))
        self.assertFalse(done.done)
        self.assertTrue(done.after.fenced)
        self.assertLessEqual(PATIENCE, self.slept - 1.0)

    def test_forced_down_service_is_refused(self) -> None:
        self.records.set_service('host1', actor='test', forced_down=True)
        self.assertEqual(['not_forced_down'], self.refusals())

    def test_target_has_to_be_one_live_standby(self) -> None:
        self.assertEqual(['standby_alive'], self.refusals('other'))
        self.start('host1')
        self.assertEqual(['standby_alive'], self.refusals())
        proposed = self.operation.propose('host1', self.target)
        self.assertEqual([], proposed.refused)

    def test_without_a_standby_it_is_refused(self) -> None:
        self.standby.backend.leave()
        self.assertEqual(['standby_alive'], self.refusals())

    def test_unknown_service_has_a_hint(self) -> None:
        with self.assertRaisesRegex(exceptions.NotFoundError, 'mean host1'):
            self.operation.propose('hsot1')
