"""--watch: in place on a terminal, quiet in a pipe, honest about its age."""

from __future__ import annotations

import argparse
import io
import unittest
from collections.abc import Iterator
from unittest import mock

from ironic_ownership.cli import overview, watch
from ironic_ownership.contracts import exceptions
from tests.unit.cli import command_case


class RepeatTest(unittest.TestCase):
    def repeat(
        self, answers: list[str], seconds: int
    ) -> list[tuple[str, float, str]]:
        """Watch for so long; an answer in capitals is an error."""
        left: Iterator[str] = iter(answers)
        shown: list[tuple[str, float, str]] = []
        now = 0.0

        def read() -> str:
            answer = next(left)
            if answer.isupper():
                raise exceptions.RecordsError(answer)
            return answer

        def sleep(duration: float) -> None:
            nonlocal now
            now += duration
            if now > seconds:
                raise KeyboardInterrupt

        clock = mock.Mock(monotonic=lambda: now, sleep=sleep)
        with mock.patch.object(watch, 'time', clock):
            watch.repeat(read, lambda *row: shown.append(row), 2)
        return shown

    def test_table_ages_until_it_is_read_again(self) -> None:
        self.assertEqual(
            [('a', 0, ''), ('a', 1, ''), ('b', 0, '')],
            self.repeat(['a', 'b'], 2),
        )

    def test_error_keeps_the_table_and_its_age_unless_it_is_the_first(
        self,
    ) -> None:
        self.assertEqual(
            [
                *(('a', 0, ''), ('a', 1, '')),
                *(('a', 2, 'DOWN'), ('a', 3, 'DOWN'), ('b', 0, '')),
            ],
            self.repeat(['a', 'DOWN', 'b'], 4),
        )
        with self.assertRaises(exceptions.RecordsError):
            self.repeat(['DOWN'], 4)


class ScreenTest(unittest.TestCase):
    def test_pipe_gets_changes_only(self) -> None:
        stream = io.StringIO()
        with watch.screen(stream) as show:
            for text, error in (
                *(('a\n', ''), ('a\n', '')),
                *(('a\n', 'down'), ('a\n', 'down'), ('b\n', '')),
            ):
                show(text, 1, error)
        self.assertEqual('a\nironic-ownership: down\nb\n', stream.getvalue())

    def test_terminal_is_redrawn_in_place_with_the_age(self) -> None:
        stream = watch.Captured(_Terminal())
        rows = [f'row{number}' for number in range(100)]
        with (
            mock.patch.dict('os.environ', LINES='10', COLUMNS='40'),
            watch.screen(stream) as show,
        ):
            show('first\n', 0, '')
            before = len(stream.getvalue())
            show('\n'.join([*rows, '']), 7, 'down')
            redrawn = stream.getvalue()[before:]
        self.assertIn('\x1b[1A', redrawn)  # the cursor goes up
        self.assertIn('row7', redrawn)
        # A table that is too tall leaves its age visible.
        self.assertNotIn('row8', redrawn)
        self.assertIn('92 more lines do not fit', redrawn)
        self.assertIn('7 s old: down', redrawn)

    def test_seconds_that_are_no_number_are_refused_in_words(self) -> None:
        parser = argparse.ArgumentParser(exit_on_error=False)
        parser.add_argument('--watch', **watch.OPTION)
        with self.assertRaisesRegex(argparse.ArgumentError, 'number value'):
            parser.parse_args(['--watch', 'often'])


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class CommandTest(command_case.CommandCase):
    def test_command_is_quiet_while_nothing_changes(self) -> None:
        rounds = 0

        def sleep(seconds: float) -> None:
            nonlocal rounds
            rounds += 1
            if rounds > 3:
                raise KeyboardInterrupt

        clock = mock.Mock(monotonic=lambda: rounds, sleep=sleep)
        self.enterContext(mock.patch.object(watch, 'time', clock))
        code, text = self.printed(overview.Overview, '--watch', '1')
        self.assertEqual((4, 4), (code, rounds))
        self.assertEqual(1, text.count('Services'))
