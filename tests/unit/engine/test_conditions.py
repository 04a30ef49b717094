from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import conditions

LOGGER = 'ironic_ownership.engine.conditions'


class TestNotices(unittest.TestCase):
    def test_condition_is_logged_once_and_its_end_once(self) -> None:
        current = conditions.Conditions()
        with self.assertLogs(LOGGER, 'INFO') as logs:
            for _ in range(3):
                current.report('backend', 'down')
            for _ in range(3):
                current.clear('backend', 'up again')
        self.assertEqual(
            ['WARNING down', 'INFO up again'],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )

    def test_end_of_an_unreported_condition_is_not_logged(self) -> None:
        with self.assertNoLogs(LOGGER, 'INFO'):
            conditions.Conditions().clear('backend', 'up again')

    def test_other_words_or_another_condition_are_news(self) -> None:
        current = conditions.Conditions()
        with self.assertLogs(LOGGER, 'INFO') as logs:
            current.report('backend', 'down')
            current.report('backend', 'still down, differently')
            current.report('ironic', 'down')
        self.assertEqual(3, len(logs.records))
        self.assertEqual(
            {'backend': 'still down, differently', 'ironic': 'down'},
            current.standing,
        )

    def test_condition_that_returns_is_logged_again(self) -> None:
        current = conditions.Conditions()
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            current.report('backend', 'down')
            current.clear('backend', 'up again')
            current.report('backend', 'down')
        self.assertEqual(2, len(logs.records))

    def test_percent_signs_in_a_message_are_harmless(self) -> None:
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            conditions.Conditions().report('a', '100 %s of %d')
        self.assertEqual('100 %s of %d', logs.records[0].getMessage())


class TestOutages(unittest.TestCase):
    def setUp(self) -> None:
        self.conditions = conditions.Conditions()
        self.down = exceptions.RecordsUnavailableError('no answer')

    def levels(self, *reports: tuple[str, Exception | None]) -> list[str]:
        with self.assertLogs(conditions.LOG.logger, 'INFO') as logs:
            for name, error in reports:
                self.conditions.report(name, f'{name} failed', error)
        return [record.levelname for record in logs.records]

    def test_one_outage_is_one_warning(self) -> None:
        behind = exceptions.BackendUnavailableError('backend db: no answer')
        behind.__cause__ = self.down
        self.assertEqual(
            ['WARNING', 'INFO', 'INFO'],
            self.levels(
                ('heartbeat', behind), ('refresh', self.down), ('x', self.down)
            ),
        )
        self.assertEqual(3, len(self.conditions.standing))

    def test_other_words_for_the_same_outage_are_no_further_warning(
        self,
    ) -> None:
        with self.assertLogs(conditions.LOG.logger, 'INFO') as logs:
            for text in ('no sentinel', 'no answer in time', 'no sentinel'):
                error = exceptions.BackendUnavailableError(text)
                self.conditions.report('backend', f'failed: {error}', error)
        self.assertEqual(
            ['WARNING', 'INFO', 'INFO'],
            [one.levelname for one in logs.records],
        )

    def test_other_causes_are_warnings(self) -> None:
        self.assertEqual(
            ['WARNING'] * 4,
            self.levels(
                ('refresh', self.down),
                ('ironic', exceptions.IronicUnavailableError('no answer')),
                ('contested', None),
                ('schema', exceptions.SchemaError('lacks a table')),
            ),
        )

    def test_next_outage_is_a_warning_again(self) -> None:
        self.levels(('refresh', self.down), ('register', self.down))
        for name in ('refresh', 'register'):
            self.conditions.clear(name, 'over')
        self.assertEqual(['WARNING'], self.levels(('register', self.down)))
