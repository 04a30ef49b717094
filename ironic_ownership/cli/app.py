"""The application: global options, errors, exit codes.

cliff's application without its interactive shell. Must not read the
configuration before a command needs it: help has to work without one.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from cliff import app, command, commandmanager
from cliff import help as cliff_help

from ironic_ownership import plugins, program
from ironic_ownership.api import operation_client
from ironic_ownership.cli import deadline as deadlines
from ironic_ownership.cli import errors, tasks
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import exceptions, extras, texts
from ironic_ownership.wiring import Wiring

_DESCRIPTION = """\
Show the owner of each bare-metal node, the services, and the reason of each
decision; move nodes, and stop, drain and delete services. Commands that change
something have --dry-run, and ask before they act.
"""
_EPILOG = f"""\
examples:
  {errors.PROG} check
  {errors.PROG} compute node list --state orphan contested
  {errors.PROG} compute node explain rack1-node7
  {errors.PROG} --config-file shard.conf service list -f json
  {errors.PROG} help compute node list

exit codes:
  0  done
  1  error
  2  usage: unknown command or wrong arguments
  3  refused by a gate
  4  degraded or unknown: the result is incomplete
"""
_SET_SERVICE = {
    **dict.fromkeys(('disable', 'cordon'), '--disable'),
    **dict.fromkeys(('enable', 'uncordon'), '--enable'),
}
"""Words of other programs for an option of ``service set``."""
_SATELLITES = {
    'nova': (extras.NOVA, './nova_driver'),
    'plugin': (extras.KIT, './plugin_kit'),
}
"""Distribution and directory of all commands with a first word."""

_LEVELS = {0: logging.ERROR, 1: logging.WARNING, 2: logging.INFO}

INTERVAL = 2.0
"""Seconds before the first line of progress, and between two lines."""


def registry() -> commandmanager.CommandManager:
    """Return the installed commands by name, imported when they run.

    cliff's own way imports every command to run one.
    """
    found = commandmanager.CommandManager()
    for entry_point in plugins.entry_points('ironic_ownership.cli'):
        found.commands[entry_point.name] = entry_point
    return found


class App(app.App):
    """One run of the program.

    :param argv: selects the HTTP service if it has one of its options.
    """

    NAME = errors.PROG
    LOG = logging.getLogger(errors.PROG)

    options: argparse.Namespace
    deadline: deadlines.Deadline | None = None

    def __init__(self, argv: Sequence[str] = ()) -> None:
        self.argv = list(argv)
        self.is_remote = _is_remote(self.argv)
        self._failure: BaseException | None = None
        super().__init__(
            _DESCRIPTION, program.version(), registry(), deferred_help=True
        )
        self.command_manager.add_command('help', tasks.Help)
        self.command_manager.add_command('complete', tasks.Complete)

    @functools.cached_property
    def wiring(self) -> Wiring:
        files = program.chosen(self.options)
        found = Wiring(new(files, self.NAME, logs=False))
        found.on_nodes_read = reading_progress(self.stderr)
        return found

    @functools.cached_property
    def api(self) -> operation_client.OperationClient:
        if self.is_remote:
            from ironic_ownership.clients import ownership

            client = ownership.connect(self.options)
            return operation_client.RemoteClient(client)
        return operation_client.local(self.wiring)

    def build_option_parser(
        self,
        description: str | None,
        version: str | None,
        argparse_kwargs: dict[str, Any] | None = None,
    ) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=self.NAME,
            usage=f'{self.NAME} [options] COMMAND ...',
            description=description,
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=False,
            # What a command takes is never taken for one of these.
            allow_abbrev=False,
            **(argparse_kwargs or {}),
        )
        add = parser.add_argument
        add(
            *('-h', '--help'),
            dest='deferred_help',
            action='store_true',
            help='show this help, or after a command the help of that one',
        )
        add(
            '--version',
            action='version',
            version=version or '',
            help='show the version of this program and exit',
        )
        program.add_arguments(parser)
        _add_connection(parser, self.argv)
        # In place of the option of keystoneauth, for single requests.
        parser.add_argument_group(conflict_handler='resolve').add_argument(
            '--timeout',
            type=deadlines.seconds,
            metavar='SECONDS',
            help=deadlines.HELP,
        )
        volume = parser.add_mutually_exclusive_group()
        volume.add_argument(
            *('-v', '--verbose'),
            dest='verbose_level',
            action='count',
            default=self.DEFAULT_VERBOSE_LEVEL,
            help='log more to standard error than warnings: -v progress, -vv '
            'everything',
        )
        volume.add_argument(
            *('-q', '--quiet'),
            dest='verbose_level',
            action='store_const',
            const=0,
            help='log errors only',
        )
        add('--log-file', metavar='FILE', help='log to this file as well')
        add(
            '--debug',
            action='store_true',
            help='show a traceback with an error',
        )
        return parser

    def configure_logging(self) -> None:
        level = _LEVELS.get(self.options.verbose_level, logging.DEBUG)
        root = logging.getLogger()
        root.setLevel(level)
        console = logging.StreamHandler(self.stderr)
        console.setFormatter(errors.Formatter())
        root.addHandler(console)
        if self.options.log_file:
            file = _log_file(self.options.log_file)
            file.setFormatter(
                errors.FileFormatter(self.LOG_FILE_MESSAGE_FORMAT)
            )
            root.addHandler(file)

    def initialize_app(self, argv: list[str]) -> None:
        if (limit := self.options.timeout) is not None:
            self.deadline = deadlines.Deadline(
                lambda: self.__dict__.get('api')
            )
            self.deadline.start(limit)

    def run(self, argv: list[str]) -> int:
        try:
            result = super().run(argv)
        finally:
            if self.deadline is not None:
                self.deadline.cancel()
        if self._failure is not None:
            return errors.exit_code(self._failure)
        return result

    def run_subcommand(self, argv: list[str]) -> int:
        helping = argv[0] == 'help'
        words = argv[1:] if helping else argv
        try:
            if words:
                self.command_manager.find_command(words)
        except ValueError:
            # "help" itself lists the commands that begin with a word.
            if not helping or not self._beginning_with(words[0]):
                self._fail(self._unknown(words))
                return errors.ExitCode.USAGE
        except Exception as exc:  # noqa: BLE001 - another package's command
            self._fail(exc)
            return errors.ExitCode.ERROR
        return super().run_subcommand(argv)

    def clean_up(
        self, cmd: command.Command, result: int, err: BaseException | None
    ) -> None:
        self._failure = err
        opened = self.__dict__.get('wiring')
        if opened is not None:
            opened.close()

    def interact(self) -> None:
        # Not a shell, as in cliff: without a command there is only the help.
        self._failure = errors.UsageError('no command')
        tasks.show(self)

    def print_help_if_requested(self) -> None:
        if self.options.deferred_help:
            tasks.show(self)
            raise cliff_help.HelpExit

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self.LOG.error(error, exc_info=error if self.options.debug else None)

    def _unknown(self, argv: list[str]) -> errors.UsageError:
        words = list(
            itertools.takewhile(lambda word: not word.startswith('-'), argv)
        )
        text = ' '.join(words) or argv[0]
        near = self._beginning_with(text)
        of_object = self._beginning_with(f'{text} ')
        option = next(
            (_SET_SERVICE[w] for w in words if w in _SET_SERVICE), ''
        )
        hint = f'{self.NAME} --help lists all commands'
        satellite = _SATELLITES.get(argv[0])
        if satellite and not self._beginning_with(f'{argv[0]} '):
            name, directory = satellite
            what = f'command without the distribution {name}'
            hint = extras.directory_hint(directory)
        elif of_object:
            what = (
                f'complete command. Its commands are: {", ".join(of_object)}'
            )
        elif option:
            what = f'command. Did you mean service set HOST {option}?'
        elif near:
            meant = texts.phrase(near, 'or')
            what = f'command. Did you mean {meant}?'
        else:
            names = [name for name, _ in self.command_manager]
            what = f'command. {errors.nearest(text, names)}'
        return errors.UsageError(f'{text!r} is not a {what}', hint=hint)

    def _beginning_with(self, text: str) -> list[str]:
        names = (name for name, _ in self.command_manager)
        return sorted(name for name in names if name.startswith(text))


def _is_remote(argv: list[str]) -> bool:
    """Tell whether an option of the HTTP service is on the command line."""
    return any(word.replace('_', '-').startswith('--os-') for word in argv)


def _add_connection(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    """Add the options of the HTTP service.

    Without one of them on the command line only two are added, for the help:
    importing the libraries behind them takes longer than most commands.
    """
    if _is_remote(argv):
        from ironic_ownership.clients import ownership

        ownership.add_arguments(parser, argv)
        return
    parser.add_argument(
        '--os-cloud',
        metavar='NAME',
        help='use the HTTP service of this cloud in clouds.yaml instead of '
        'the database, with any --os-... option of openstacksdk',
    )
    parser.add_argument(
        '--os-endpoint-override',
        metavar='URL',
        help='use the HTTP service at this URL; without Keystone, nothing '
        'else is needed',
    )


def reading_progress(stream: TextIO) -> Callable[[int], object]:
    """Return what reports the number of nodes that were read so far.

    :param stream: standard error. Nothing is written unless it is a terminal:
        scripts compare it, and a short list needs no progress.
    """
    if not stream.isatty():
        return int
    reported_at = time.monotonic()

    def report(nodes: int) -> None:
        nonlocal reported_at
        now = time.monotonic()
        if now - reported_at >= INTERVAL:
            reported_at = now
            stream.write(f'{errors.PROG}: {nodes} nodes read from Ironic\n')
            stream.flush()

    return report


def _log_file(path: str) -> logging.FileHandler:
    try:
        return logging.FileHandler(path)
    except OSError as exc:
        raise exceptions.OwnershipError(
            f'--log-file {path} cannot be written: {exc.strerror}',
            hint='Name a file in a directory that this user may write to',
        ) from exc


def run(argv: list[str]) -> int:
    """Run the program once.

    :returns: the exit code; wrong options end the process with 2.
    """
    try:
        app = App(argv)
    except exceptions.OwnershipError as exc:
        errors.report(exc)
        return errors.exit_code(exc)
    return app.run(app.argv)
