"""The program around the commands, and what they have in common."""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import unittest
from unittest import mock

from ironic_ownership.api import schemas
from ironic_ownership.cli import app, base, errors, tasks
from ironic_ownership.contracts import exceptions
from tests.unit.output import captured


class ThingLister(base.Lister):
    """List things."""

    error: BaseException | None = None

    def take_action(self, parsed_args):
        if self.error is not None:
            raise self.error
        column = schemas.Column
        return self.table(
            (
                column('uuid', lambda t: t),
                column('some_list', lambda t: [t, t]),
                column('flag', lambda t: t == 'a'),
                column('nothing', lambda t: None),
            ),
            ['b', 'a'],
        )


class AppTest(unittest.TestCase):
    def run_app(self, *words, **attributes):
        """Run the program with one more command; return code and output."""
        kind = type('Thing', (ThingLister,), attributes)
        with (
            captured() as (out, err),
            # No command asks for the configuration.
            mock.patch.object(app, 'new', side_effect=AssertionError),
        ):
            program = app.App()
            program.command_manager.add_command('thing list', kind)
            code = program.run(list(words))
        return code, out.getvalue(), err.getvalue()

    def usage(self, *words: str) -> str:
        """Return the line that wrong usage gets."""
        code, out, err = self.run_app(*words)
        self.assertEqual((2, ''), (code, out), words)
        self.assertEqual(1, err.count('\n'), err)
        self.assertNotIn('?.', err)
        return err

    def test_tables_are_for_people_and_other_formats_for_scripts(self) -> None:
        _, out, _ = self.run_app('thing', 'list')
        self.assertIn('| UUID | Some List | Flag | Nothing |', out)
        self.assertIn('| a    | a, a      | yes  | -       |', out)
        _, out, _ = self.run_app('thing', 'list', '-f', 'csv')
        self.assertEqual(
            '"uuid","some_list","flag","nothing"\n'
            '"b","b, b",False,""\n'
            '"a","a, a",True,""\n',
            out,
        )
        _, out, _ = self.run_app(
            *('thing', 'list', '-f', 'json', '--noindent', '-c', 'some_list')
        )
        self.assertEqual(
            [{'some_list': ['b', 'b']}, {'some_list': ['a', 'a']}],
            json.loads(out),
        )

    def test_error_is_one_line_and_has_its_code(self) -> None:
        for error, expected in (
            (exceptions.NotFoundError('50% %s gone', hint='Look'), 1),
            (errors.UsageError('odd'), 2),
            (KeyError('bug'), 1),
            (KeyboardInterrupt(), 130),
            (BrokenPipeError(), 141),
        ):
            code, out, err = self.run_app('thing', 'list', error=error)
            self.assertEqual((expected, ''), (code, out))
            if expected > 100:
                self.assertEqual('', err)
                continue
            self.assertEqual(1, err.count('\n'), err)
            self.assertIn(errors.line(error), err)
        bug = KeyError('bug')
        _, _, err = self.run_app('--debug', 'thing', 'list', error=bug)
        self.assertIn('Traceback', err)

    def test_unknown_commands_are_wrong_usage(self) -> None:
        for words in (('thnig', 'list'), ('help', 'thnig')):
            self.assertIn('Did you mean thing list', self.usage(*words))
        for words in (('thing',), ('thing', '--long')):
            self.assertIn('thing list', self.usage(*words))
        self.assertIn(
            "'service' is not a complete command. Its commands are: "
            'service delete, service drain, service failover, service list, '
            'service set, service show. ',
            self.usage('service'),
        )

    def test_commands_of_a_satellite_name_its_distribution(self) -> None:
        for words, name in (
            (('plugin', 'check'), 'ironic-ownership-plugin-kit'),
            (('nova', 'check'), 'ironic-ownership-nova'),
        ):
            self.assertIn(' '.join(words), app.registry().commands)
            with mock.patch.object(app.plugins, 'entry_points', lambda _: ()):
                err = self.usage(*words)
            self.assertRegex(err, rf'{name}. .*/pip install')

    def test_other_programs_words_lead_to_service_set(self) -> None:
        for words, option in (
            ('service disable rack1', '--disable'),
            ('compute service cordon', '--disable'),
            ('cordon rack1', '--disable'),
            ('service enable', '--enable'),
            ('uncordon rack1', '--enable'),
        ):
            err = self.usage(*words.split())
            self.assertIn(f'Did you mean service set HOST {option}? ', err)
            self.assertNotIn('drain', err)

    def completed(self, script: str, *words: str) -> list[str]:
        """Return what bash offers for the last word."""
        stub = (
            f'_get_comp_words_by_ref() {{ words=(x {" ".join(words)}); '
            f'cur={words[-1]}; }}'
        )
        run = '_ironic_ownership; echo "${COMPREPLY[@]}"'
        done = subprocess.run(
            ['bash', '-c', '\n'.join((stub, script, stub, run))],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    def test_bash_completes_the_words_of_commands(self) -> None:
        _, script, _ = self.run_app('complete')
        for words, offered in (
            ('pause --fo', '--format --for --force'),
            ('pause list --li', '--limit'),
            ('compute node check-', 'check-action check-delete'),
            ('thing l', 'list'),
        ):
            self.assertEqual(
                offered.split(), self.completed(script, *words.split())
            )

    def test_without_a_command_the_help_is_shown(self) -> None:
        code, out, err = self.run_app()
        self.assertEqual((2, ''), (code, err))
        self.assertIn('exit codes:', out)
        self.assertIn('  thing list ', out)
        self.assertNotIn('cmd2', sys.modules)

    def test_only_a_terminal_gets_the_progress_of_a_read(self) -> None:
        line = 'ironic-ownership: {} nodes read from Ironic\n'.format
        for is_terminal, expected in (
            (True, line(2000) + line(4000)),
            (False, ''),
        ):
            stream = io.StringIO()
            stream.isatty = lambda answer=is_terminal: answer
            with mock.patch.object(app.time, 'monotonic') as now:
                now.return_value = 100.0
                report = app.reading_progress(stream)
                for second in range(1, 6):
                    now.return_value += 1.0
                    report(1000 * second)
            self.assertEqual(expected, stream.getvalue())


class RegistryTest(unittest.TestCase):
    def test_command_is_imported_without_the_application(self) -> None:
        # As OpenStackClient does.
        for module in ('base', 'change', 'move_command'):
            program = f'import ironic_ownership.cli.{module}'
            done = subprocess.run(
                [sys.executable, '-c', program],
                capture_output=True,
                text=True,
            )
            self.assertEqual('', done.stderr, module)

    def test_every_command_of_ours_has_a_task(self) -> None:
        names = [name for name, _ in app.registry()]
        self.assertNotIn('Other', tasks.by_task(names))
        self.assertEqual(
            ['thing list'], tasks.by_task([*names, 'thing list'])['Other']
        )

    def test_every_command_teaches(self) -> None:
        for name, entry_point in app.registry():
            shown = entry_point.load()(mock.Mock(), None)
            parser = shown.get_parser(f'{errors.PROG} {name}')
            text = parser.format_help()
            self.assertIn(f'  {errors.PROG} {name}', text)
            self.assertTrue(shown.get_description(), name)
            for action in parser._actions:
                if action.help is not argparse.SUPPRESS:
                    self.assertTrue(action.help, (name, action))
            if isinstance(shown, base.Lister):
                self.assertRegex(shown.get_epilog(), r'^columns: \w', name)
