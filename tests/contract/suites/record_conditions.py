"""Reports of the conditions of services."""

from __future__ import annotations

from ironic_ownership.contracts import model
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

    def test_report_is_stored_and_replaced(self) -> None:
        self.assertEqual({}, self.records.condition_reports())
        for found in ((BAD,), (OK, Condition('placement', ended=True))):
            self.assertTrue(self.report(*found))
            report = self.stored()
            self.assertEqual('one', report.incarnation)
            self.assertEqual(600.0, report.interval)
            # In milliseconds: the clocks differ by a large number.
            shifted = [c.shifted(-report.reported_at) for c in found]
            stored = [
                c.shifted(-2 * report.reported_at + 100.0)
                for c in report.conditions
            ]
            for expected, one in zip(shifted, stored, strict=True):
                self.assertEqual(expected.code, one.code)
                self.assertEqual(expected.error, one.error)
                self.assertEqual(expected.ended, one.ended)
                for mine, its in (
                    (expected.succeeded_at, one.succeeded_at),
                    (expected.since, one.since),
                ):
                    if mine is None or its is None:
                        self.assertEqual(mine, its)
                    else:
                        self.assertAlmostEqual(mine, its, 3)
            self.assertLess(report.age, 60)

    def test_report_changes_neither_services_nor_events(self) -> None:
        self.register('host1')
        before = self.state(), self.service('host1').revision
        self.report(BAD)
        after = self.state(), self.service('host1').revision
        self.assertEqual(before, after)

    def test_process_without_a_service_reports(self) -> None:
        self.assertTrue(self.report(BAD))
        self.assertEqual(('refresh',), self.failing())

    def failing(self) -> tuple[str, ...]:
        return tuple(c.loop for c in self.stored().failing)

    def test_another_process_does_not_replace_one_that_reports(self) -> None:
        self.report(BAD)
        self.assertFalse(self.report(OK, incarnation='two'))
        self.assertEqual(('refresh',), self.failing())

    def test_active_process_replaces_the_report_of_another(self) -> None:
        self.report(BAD)
        self.records.register(
            'host1', model.MemberSettings(), incarnation='two'
        )
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
