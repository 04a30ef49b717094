from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import conditions


class TestConditions(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.conditions = conditions.Conditions()
        self.down = exceptions.RecordsUnavailableError('no answer')

    def test_begin_news_end_and_return_are_logged_once(self) -> None:
        with self.assertLogs(conditions.__name__, 'INFO') as logs:
            self.conditions.clear('backend', 'never reported')
            for text in ('100 %s of %d', 'down, differently'):
                for _ in range(3):
                    self.conditions.report('backend', text)
            self.conditions.report('ironic', 'down, differently')
            self.assertEqual(
                dict.fromkeys(('backend', 'ironic'), 'down, differently'),
                self.conditions.standing,
            )
            for _ in range(3):
                self.conditions.clear('backend', 'up again')
            self.conditions.report('backend', 'down, differently')
        self.assertEqual(
            [
                'WARNING 100 %s of %d',
                *['WARNING down, differently'] * 2,
                'INFO up again',
                'WARNING down, differently',
            ],
            [f'{r.levelname} {r.getMessage()}' for r in logs.records],
        )

    def levels(self, *reports: tuple[str, Exception | None]) -> list[str]:
        with self.assertLogs(conditions.__name__, 'INFO') as logs:
            for name, error in reports:
                self.conditions.report(name, f'{name}: {error}', error)
        return [record.levelname for record in logs.records]

    def test_one_outage_is_one_warning_and_the_next_is_another(self) -> None:
        behind = exceptions.BackendUnavailableError('backend db: no answer')
        behind.__cause__ = self.down
        self.assertEqual(
            ['WARNING', 'INFO', 'INFO'],
            self.levels(
                ('heartbeat', behind), ('refresh', self.down), ('x', self.down)
            ),
        )
        self.assertEqual(3, len(self.conditions.standing))
        for name in ('heartbeat', 'refresh', 'x'):
            self.conditions.clear(name, 'over')
        self.assertEqual(['WARNING'], self.levels(('x', self.down)))

    def test_other_words_for_the_same_outage_are_no_further_warning(
        self,
    ) -> None:
        self.assertEqual(
            ['WARNING', 'INFO', 'INFO'],
            self.levels(
                *(
                    ('backend', exceptions.BackendUnavailableError(text))
                    for text in ('no sentinel', 'too late', 'no sentinel')
                )
            ),
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
