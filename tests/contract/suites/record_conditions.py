"""Reports of the conditions of services."""

from __future__ import annotations

from ironic_ownership.contracts.conditions import Condition, ConditionReport
from tests.contract.suites import records

OK = Condition('refresh', succeeded_at=90.0)
BAD = Condition(
    'refresh', succeeded_at=90.0, code='ironic', error='é down', since=95.0
)


class ConditionContract(records.RecordsContract):
    """Conditions are stored with a service, and decide nothing."""

    def report(
        self,
        *found: Condition,
        incarnation: str = 'one',
        interval: float = 600.0,
    ) -> bool:
        return self.records.report_conditions(
            'host1', incarnation, found, interval=interval, at=100.0
        )

    def stored(self) -> ConditionReport:
        return self.records.condition_reports()['host1']

    def failing(self) -> tuple[str, ...]:
        return tuple(c.loop for c in self.stored().failing)

    def test_report_is_stored_and_replaced(self) -> None:
        self.assertEqual({}, self.records.condition_reports())
        for found in ((BAD,), (OK, Condition('placement', ended=True))):
            # A process without a service reports as well.
            self.assertTrue(self.report(*found))
            report = self.stored()
            self.assert_has(report, incarnation='one', interval=600.0)
            self.assertLess(report.age, 60)
            for expected, one in zip(found, report.conditions, strict=True):
                for name in ('loop', 'code', 'error', 'ended'):
                    self.assertEqual(
                        getattr(expected, name), getattr(one, name)
                    )
                for name in ('succeeded_at', 'since'):
                    mine, its = getattr(expected, name), getattr(one, name)
                    self.assertEqual(mine is None, its is None)
                    # In milliseconds: the clocks differ by a large number.
                    ago = report.reported_at - (its or report.reported_at)
                    self.assertAlmostEqual(100.0 - (mine or 100.0), ago, 3)

    def test_report_changes_neither_services_nor_events(self) -> None:
        self.register('host1')
        before = self.state(), self.service('host1').revision
        self.report(BAD)
        after = self.state(), self.service('host1').revision
        self.assertEqual(before, after)

    def test_only_the_active_process_replaces_one_that_reports(self) -> None:
        self.report(BAD)
        self.assertFalse(self.report(OK, incarnation='two'))
        self.assertEqual(('refresh',), self.failing())
        self.register('host1', incarnation='two')
        self.assertTrue(self.report(OK, incarnation='two'))
        self.assertEqual((), self.failing())
        self.assertFalse(self.report(BAD, incarnation='one'))

    def test_report_that_is_outdated_is_replaced(self) -> None:
        self.report(BAD, interval=-1000.0)
        self.assertTrue(self.stored().is_outdated)
        self.assertTrue(self.report(OK, incarnation='two'))

    def test_report_of_a_deleted_service_is_deleted(self) -> None:
        self.register('host1')
        self.report(BAD)
        self.records.delete_service('host1', actor='operator')
        self.assertEqual({}, self.records.condition_reports())
