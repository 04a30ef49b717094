"""Commands of a new user, before anything is set up."""

from __future__ import annotations

import contextlib
import io
import pathlib
import tempfile
import unittest
from collections.abc import Callable
from unittest import mock

from ironic_ownership.cmd import cli, dbsync, status
from ironic_ownership.db import connection, tables
from tests.unit.output import captured

Main = Callable[[list[str]], int]


class FirstHourCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.directory = pathlib.Path(directory)

    def run_main(self, main: Main, *words: str) -> int:
        with captured() as (out, err):
            code = main(list(words))
        self.out, self.err = out.getvalue(), err.getvalue()
        return code


class TestTerminal(unittest.TestCase):
    def test_text_that_the_terminal_cannot_show_is_escaped(self) -> None:
        raw = io.BytesIO()
        out = io.TextIOWrapper(raw, encoding='ascii')

        def run(words: list[str]) -> int:
            out.write('näch ☃')
            return 0

        with (
            contextlib.redirect_stdout(out),
            mock.patch.object(cli, '_run', run),
        ):
            self.assertEqual(0, cli.main(['pause', 'list']))
        self.assertEqual(b'n\\xe4ch \\u2603', raw.getvalue())


class TestWithoutConfiguration(FirstHourCase):
    def setUp(self) -> None:
        super().setUp()
        self.enterContext(
            mock.patch.dict('os.environ', {'HOME': str(self.directory)})
        )
        for search in ('find_config_files', 'find_config_dirs'):
            self.enterContext(
                mock.patch(f'oslo_config.cfg.{search}', return_value=[])
            )

    def test_places_that_were_searched_are_named(self) -> None:
        for main, words in (
            (cli.main, ['check']),
            (cli.main, ['compute', 'node', 'move', 'x', '--to', 'y', '-y']),
            (dbsync.main, ['version']),
            (status.main, ['upgrade', 'check']),
        ):
            with self.subTest(words=words):
                self.assertNotEqual(0, self.run_main(main, *words))
                text = ' '.join(
                    (self.out + self.err).replace('|', ' ').split()
                )
                self.assertIn('no configuration file was found', text)
                for place in (
                    f'{self.directory}/.ironic-ownership,',
                    '/etc/ironic-ownership,',
                ):
                    self.assertIn(place, text)


class TestNewDatabase(FirstHourCase):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.directory / 'typo.sqlite'
        self.url = f'sqlite:///{self.file}'
        self.config = self.directory / 'ironic-ownership.conf'
        self.config.write_text(
            f'[database]\nconnection = {self.url}\n'
            '[ironic]\nauth_type = none\n'
            'endpoint_override = http://127.0.0.1:1\n'
        )
        self.options = ('--config-file', str(self.config))

    def test_commands_create_none_and_say_so(self) -> None:
        for main, words in (
            (cli.main, ['service', 'list']),
            (cli.main, ['compute', 'node', 'list', '-f', 'json']),
            (cli.main, ['service', 'set', 'a', '--disable', '--yes']),
            (dbsync.main, ['purge', '--days', '9']),
        ):
            with self.subTest(words=words):
                self.assertEqual(1, self.run_main(main, *self.options, *words))
                self.assertEqual('', self.out)
                self.assertIn('no services are registered', self.err)
                self.assertIn(str(self.file), self.err)
                self.assertFalse(self.file.exists())

    def test_value_that_cannot_be_read_is_named_and_no_secret(self) -> None:
        for line, text in (
            (f'connection = {self.url}$hunter2', 'a $ is written $$'),
            (f'connection = {self.url}${{hun.ter2}}', 'a $ is written $$'),
            (
                'max_pool_size = a',
                "invalid literal for int() with base 10: 'a'",
            ),
        ):
            self.config.write_text(f'[database]\n{line}\n')
            for main, words in (
                (cli.main, ['service', 'list']),
                (cli.main, ['check']),
                (dbsync.main, ['version']),
                (status.main, ['upgrade', 'check']),
            ):
                with self.subTest(line=line, words=words):
                    code = self.run_main(main, *self.options, *words)
                    self.assertNotEqual(0, code)
                    shown = ' '.join((self.out + self.err).split())
                    self.assertIn(text, shown.replace('| ', ''))
                    for no in ('hunter2', 'ter2', 'LocationInfo', 'Traceback'):
                        self.assertNotIn(no, shown)

    def test_version_of_none_creates_none(self) -> None:
        self.run_main(dbsync.main, *self.options, 'version')
        self.assertEqual('none\n', self.out)
        self.run_main(status.main, *self.options, 'upgrade', 'check')
        self.assertFalse(self.file.exists())

    def test_hint_can_be_carried_out(self) -> None:
        self.run_main(cli.main, *self.options, 'service', 'list')
        self.assertIn('ironic-ownership-dbsync upgrade', self.err)
        self.run_main(dbsync.main, *self.options, 'upgrade')
        code = self.run_main(
            cli.main, *self.options, 'service', 'list', '-f', 'json'
        )
        self.assertEqual((0, '[]'), (code, self.out.strip()))
        self.assertIn('no services are registered', self.err)
        database = connection.open_database(self.url)
        self.addCleanup(database.close)
        self.assertEqual(tables.HEAD, database.revision())
