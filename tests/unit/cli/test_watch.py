"""--watch: in place on a terminal, quiet in a pipe, honest about its age."""

from __future__ import annotations

import argparse
import io
import logging
import types
import unittest
from collections.abc import Iterator
from unittest import mock

from ironic_ownership.cli import overview, watch
from ironic_ownership.contracts import exceptions
from tests.unit.cli import test_move


class RepeatTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.shown: list[tuple[str, float, str]] = []

    def show(self, text: str, age: float, error: str) -> None:
        self.shown.append((text, age, error))

    def repeat(self, answers: list[str], seconds: int) -> None:
        """Watch for so long; an answer in capitals is an error."""
        left: Iterator[str] = iter(answers)

        def read() -> str:
            answer = next(left)
            if answer.isupper():
                raise exceptions.RecordsError(answer)
            return answer

        def sleep(duration: float) -> None:
            self.now += duration
            if self.now > seconds:
                raise KeyboardInterrupt

        clock = mock.Mock(monotonic=lambda: self.now, sleep=sleep)
        with mock.patch.object(watch, 'time', clock):
            watch.repeat(read, self.show, 2)

    def test_table_ages_until_it_is_read_again(self) -> None:
        self.repeat(['a', 'b'], 2)
        self.assertEqual(
            [('a', 0, ''), ('a', 1, ''), ('b', 0, '')], self.shown
        )

    def test_error_keeps_the_table_and_its_age(self) -> None:
        self.repeat(['a', 'DOWN', 'b'], 4)
        self.assertEqual(
            [
                ('a', 0, ''),
                ('a', 1, ''),
                ('a', 2, 'DOWN'),
                ('a', 3, 'DOWN'),
                ('b', 0, ''),
            ],
            self.shown,
        )

    def test_first_error_ends_it(self) -> None:
        with self.assertRaises(exceptions.RecordsError):
            self.repeat(['DOWN'], 4)


class ScreenTest(unittest.TestCase):
    def test_pipe_gets_changes_only(self) -> None:
        stream = io.StringIO()
        with watch.screen(stream) as show:
            for text, error in (
                ('a\n', ''),
                ('a\n', ''),
                ('a\n', 'down'),
                ('a\n', 'down'),
                ('b\n', ''),
            ):
                show(text, 1, error)
        self.assertEqual('a\nironic-ownership: down\nb\n', stream.getvalue())

    def test_terminal_is_redrawn_in_place_with_the_age(self) -> None:
        stream = watch.Captured(_Terminal())
        with watch.screen(stream) as show:
            show('first\n', 0, '')
            before = len(stream.getvalue())
            show('second\n', 7, 'down')
        redrawn = stream.getvalue()[before:]
        self.assertIn('\x1b[1A', redrawn)  # the cursor goes up
        self.assertIn('7 s old: down', redrawn)

    def test_table_that_is_too_tall_leaves_its_age_visible(self) -> None:
        stream = watch.Captured(_Terminal())
        rows = [f'row{number}' for number in range(100)]
        with (
            mock.patch.dict('os.environ', LINES='10', COLUMNS='40'),
            watch.screen(stream) as show,
        ):
            show('\n'.join([*rows, '']), 7, 'down')
            shown = stream.getvalue()
        self.assertIn('row7', shown)
        self.assertNotIn('row8', shown)
        self.assertIn('92 more lines do not fit', shown)
        self.assertIn('7 s old: down', shown)

    def test_seconds_that_are_no_number_are_refused_in_words(self) -> None:
        parser = argparse.ArgumentParser(exit_on_error=False)
        parser.add_argument('--watch', **watch.OPTION)
        with self.assertRaisesRegex(argparse.ArgumentError, 'number value'):
            parser.parse_args(['--watch', 'often'])


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class CommandTest(test_move.CommandCase):
    def test_command_is_read_again_and_quiet_while_nothing_changes(
        self,
    ) -> None:
        stdout = io.StringIO()
        app = types.SimpleNamespace(
            api=self.caller(),
            stderr=io.StringIO(),
            stdout=stdout,
            LOG=logging.getLogger('test'),
            deadline=self.limit,
        )
        command = overview.Overview(app, None)
        rounds = 0

        def sleep(seconds: float) -> None:
            nonlocal rounds
            rounds += 1
            if rounds > 3:
                raise KeyboardInterrupt

        clock = mock.Mock(monotonic=lambda: rounds, sleep=sleep)
        self.enterContext(mock.patch.object(watch, 'time', clock))
        args = command.get_parser('test').parse_args(['--watch', '1'])
        self.assertEqual(4, command.run(args))
        self.assertEqual(1, stdout.getvalue().count('Services'))
