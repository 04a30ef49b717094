"""The program around the commands, and what they have in common."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import unittest
from unittest import mock

from ironic_ownership.cli import app, base, errors, tasks
from ironic_ownership.contracts import exceptions
from ironic_ownership.observe import columns
from tests.unit.output import captured


class ThingLister(base.Lister):
    """List things."""

    code: errors.ExitCode = errors.ExitCode.DONE
    error: BaseException | None = None

    def take_action(self, parsed_args):
        self.exit_code = self.code
        if self.error is not None:
            raise self.error
        column = columns.Column
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

    def test_tables_are_for_people(self) -> None:
        _, out, _ = self.run_app('thing', 'list')
        self.assertIn('| UUID | Some List | Flag | Nothing |', out)
        self.assertIn('| a    | a, a      | yes  | -       |', out)

    def test_other_formats_have_keys_and_values(self) -> None:
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
            (exceptions.NotFoundError('gone', hint='Look'), 1),
            (errors.UsageError('odd'), 2),
            (KeyError('bug'), 1),
        ):
            code, out, err = self.run_app('thing', 'list', error=error)
            self.assertEqual((expected, ''), (code, out))
            self.assertEqual(1, err.count('\n'), err)
            self.assertIn(errors.line(error), err)

    def test_debug_adds_the_traceback(self) -> None:
        code, _, err = self.run_app(
            *('--debug', 'thing', 'list'), error=KeyError('bug')
        )
        self.assertEqual(1, code)
        self.assertIn('Traceback', err)

    def test_interrupt_and_broken_pipe_are_silent(self) -> None:
        for error, expected in (
            (KeyboardInterrupt(), 130),
            (BrokenPipeError(), 141),
        ):
            code, out, err = self.run_app('thing', 'list', error=error)
            self.assertEqual((expected, '', ''), (code, out, err))

    def test_unknown_columns_are_wrong_usage(self) -> None:
        for option in ('-c', '--sort-column'):
            code, _, err = self.run_app('thing', 'list', option, 'uiud')
            self.assertEqual(2, code)
            self.assertIn('Did you mean uuid?', err)

    def test_unknown_commands_are_wrong_usage(self) -> None:
        for words in (('thnig', 'list'), ('help', 'thnig')):
            code, out, err = self.run_app(*words)
            self.assertEqual((2, ''), (code, out))
            self.assertIn('Did you mean thing list', err)
            self.assertNotIn('?.', err)
            self.assertEqual(1, err.count('\n'), err)

    def test_commands_of_a_satellite_name_its_distribution(self) -> None:
        for words, name in (
            (('plugin', 'check'), 'ironic-ownership-plugin-kit'),
            (('nova', 'check'), 'ironic-ownership-nova'),
        ):
            self.assertIn(' '.join(words), app.registry().commands)
            with mock.patch.object(app.plugins, 'entry_points', lambda _: ()):
                code, out, err = self.run_app(*words)
            self.assertEqual((2, ''), (code, out))
            self.assertRegex(err, rf'{name}. .*/pip install')
            self.assertEqual(1, err.count('\n'), err)

    def test_object_alone_lists_its_commands(self) -> None:
        for words in (('thing',), ('thing', '--long')):
            code, out, err = self.run_app(*words)
            self.assertEqual((2, ''), (code, out))
            self.assertIn('thing list', err)
        _, _, err = self.run_app('service')
        self.assertIn(
            "'service' is not a complete command. Its commands are: "
            'service delete, service drain, service failover, service list, '
            'service set, service show. ',
            err,
        )
        self.assertEqual(1, err.count('\n'), err)

    def test_other_programs_words_lead_to_service_set(self) -> None:
        for words, option in (
            (('service', 'disable', 'rack1'), '--disable'),
            (('compute', 'service', 'cordon'), '--disable'),
            (('cordon', 'rack1'), '--disable'),
            (('service', 'enable'), '--enable'),
            (('uncordon', 'rack1'), '--enable'),
        ):
            code, _, err = self.run_app(*words)
            self.assertEqual(2, code)
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
        code, script, _ = self.run_app('complete')
        self.assertEqual(0, code)
        for words, offered in (
            (('pa',), ['pause']),
            (('pause', 'l'), ['list']),
            (('pause', '--fo'), ['--format', '--for', '--force']),
            (('pause', 'list', '--li'), ['--limit']),
            (('compute', 'node', 'check-'), ['check-action', 'check-delete']),
            (('thing', 'l'), ['list']),
        ):
            self.assertEqual(offered, self.completed(script, *words))

    def test_without_a_command_the_help_is_shown(self) -> None:
        code, out, err = self.run_app()
        self.assertEqual((2, ''), (code, err))
        self.assertIn('exit codes:', out)
        self.assertIn('  thing list ', out)
        self.assertNotIn('cmd2', sys.modules)


class RegistryTest(unittest.TestCase):
    def test_commands_are_known_before_they_are_imported(self) -> None:
        modules = [
            name
            for name in sys.modules
            if name.startswith('ironic_ownership.cli.')
        ]
        with mock.patch.dict(sys.modules):
            for name in modules:
                del sys.modules[name]
            fresh = importlib.import_module('ironic_ownership.cli.app')
            names = dict(fresh.registry().commands)
            self.assertIn('compute node list', names)
            self.assertNotIn('ironic_ownership.cli.compute_node', sys.modules)

    def test_command_is_imported_without_the_application(self) -> None:
        # As OpenStackClient does.
        for module in ('base', 'change', 'move_command'):
            done = subprocess.run(
                [
                    sys.executable,
                    '-c',
                    f'import ironic_ownership.cli.{module}',
                ],
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

    def test_every_list_names_its_columns(self) -> None:
        for name, entry_point in app.registry():
            kind = entry_point.load()
            if issubclass(kind, base.Lister):
                epilog = kind(mock.Mock(), None).get_epilog()
                self.assertRegex(epilog, r'^columns: \w', name)

    def test_every_command_teaches(self) -> None:
        for name, entry_point in app.registry():
            kind = entry_point.load()
            shown = kind(mock.Mock(), None)
            parser = shown.get_parser(f'{errors.PROG} {name}')
            text = parser.format_help()
            self.assertIn(f'  {errors.PROG} {name}', text)
            self.assertTrue(shown.get_description(), name)
            for action in parser._actions:
                if action.help is not argparse.SUPPRESS:
                    self.assertTrue(action.help, (name, action))
