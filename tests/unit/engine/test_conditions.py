from __future__ import annotations

import unittest

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
