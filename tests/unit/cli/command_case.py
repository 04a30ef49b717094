"""Commands here, over HTTP, and as OpenStackClient runs them.

A row of a table is one command with its input, and what comes of it; each
caller has to get the same output, exit code and status of HTTP.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import shlex
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from unittest import mock

from ironic_ownership import plugins
from ironic_ownership.api.operation_client import (
    LocalClient,
    OperationClient,
    RemoteClient,
)
from ironic_ownership.cli import deadline, errors, move, move_progress
from ironic_ownership.clients import ownership
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.engine.changes import trial
from ironic_ownership.osc import commands
from tests.unit.web import app_case

_DIFFERS = re.compile(
    r'req-[0-9a-z-]+ *|20\d\d-\d\d-\d\d[T ][0-9:.+Z]+|\b\d{13,}\b|api@local'
    r'|operator|ironic-ownership: \d of \d nodes done\n'
)
"""Request ids, times, epochs, actors, and progress: those of each run."""
_QUESTION = re.compile(r'^(.*)\? \[y/N\] ', re.MULTILINE)
_LOGGERS = ('ironic_ownership.cli', 'test')


class _Client:
    """Sends requests to the application in this process."""

    request_id = 'req-test'

    def __init__(self, case: app_case.SiteCase) -> None:
        self._case = case

    def send(self, method: str, path: str, body: Any = None) -> Any:
        status, found = self._case.answer(method, path, json=body)
        self._case.status = status
        if status < 300:
            return found
        error = found['error']
        raise ownership.RemoteError(
            error['code'],
            error['message'],
            hint=error['hint'],
            details=error.get('details'),
        )


class CommandCase(app_case.SiteCase):
    """Commands in this process, or at the application over HTTP."""

    remote = False

    def setUp(self) -> None:
        super().setUp()
        self.limit = deadline.Deadline(lambda: None)

    def renew(self) -> None:
        """Go on in a deployment without what happened so far."""
        self.doCleanups()
        self.__dict__.pop('client', None)
        self.setUp()

    def caller(self) -> OperationClient:
        if self.remote:
            return RemoteClient(_Client(self))
        return LocalClient(self.wired, 'operator', new_request_id())

    def run_command(self, kind: Any, *words: str) -> tuple[int, Any]:
        """Run a command; return its exit code and its output."""
        code, text = self.printed(kind, *words, '-f', 'json')
        return code, json.loads(text)

    def printed(self, kind: Any, *words: str) -> tuple[int, str]:
        """Run a command; return its exit code and what it prints."""
        self.stderr = io.StringIO()
        app = types.SimpleNamespace(
            api=self.caller(),
            stderr=self.stderr,
            stdout=io.StringIO(),
            LOG=logging.getLogger('test'),
            deadline=self.limit,
            options=types.SimpleNamespace(ownership_timeout=None, debug=False),
        )
        command = kind(app, None)
        if issubclass(kind, commands.UnderOpenStack):
            command.__dict__['api'] = app.api
        args = command.get_parser('test').parse_args([*words])
        return command.run(args), app.stdout.getvalue()

    def move(self, *words: str) -> tuple[int, list[dict[str, Any]]]:
        return self.run_command(
            move.MoveComputeNode, *words, '--service', 'new'
        )

    def hurry_trials(self) -> None:
        """Let no trial wait for a service that does not refresh."""
        for module, name in (
            (move_progress, 'INTERVAL'),
            (trial, 'ALLOWANCE'),
            (trial, 'POLL'),
        ):
            self.enterContext(mock.patch.object(module, name, 0.0))
        self.addCleanup(join)

    def report_refresh(self, host: str, incarnation: str) -> None:
        """Report that a service has refreshed after all that was done."""
        done = Condition(Loop.REFRESH.value, succeeded_at=3600.0, took=1.0)
        self.records.report_conditions(
            host, incarnation, [done], interval=60.0, at=0.0
        )


def join() -> None:
    """Wait for the moves in the background."""
    for thread in threading.enumerate():
        if thread.name.startswith('req-'):
            thread.join(60)


class Outcome(NamedTuple):
    """Exit code, standard output, and all other lines."""

    code: int
    out: str
    said: str


class RowCase(CommandCase):
    """Runs a row by each caller; the operator answers questions with yes."""

    def setUp(self) -> None:
        super().setUp()
        self.asked = ''
        self.stdin = mock.Mock(**{'readline.return_value': 'y\n'})
        self.enterContext(mock.patch('sys.stdin', self.stdin))

    def find(self, words: str) -> tuple[Any, list[str]]:
        """Return the class of a command, and its arguments."""
        given = shlex.split(words)
        for entry_point in sorted(
            plugins.entry_points(commands.COMMANDS),
            key=lambda one: -len(one.name),
        ):
            name = entry_point.name.split()
            if given[: len(name)] == name:
                return entry_point.load(), given[len(name) :]
        raise AssertionError(words)

    def outcome(self, kind: Any, words: Iterable[str]) -> Outcome:
        """Run a command; the HTTP service has the status of its error."""
        out = ''
        with (
            self.said() as lines,
            contextlib.redirect_stderr(io.StringIO()) as usage,
        ):
            try:
                code, out = self.printed(kind, *words)
            except SystemExit as exc:
                code = exc.code
                lines.append(usage.getvalue())
            except exceptions.OwnershipError as exc:
                code = errors.exit_code(exc)
                lines.append(errors.line(exc))
                if isinstance(exc, ownership.RemoteError):
                    self.assertEqual(self.expected, self.status, words)
                self.expected = exc.http_status
        self.asked = ''.join(_QUESTION.findall(usage.getvalue()))
        text = self.stderr.getvalue() + '\n'.join(lines)
        return Outcome(int(code), out, text)

    @contextlib.contextmanager
    def said(self) -> Iterator[list[str]]:
        """Yield what the loggers of the program write."""
        lines: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: lines.append(record.getMessage())
        with contextlib.ExitStack() as stack:
            for name in _LOGGERS:
                logger = logging.getLogger(name)
                for attribute, value in (
                    ('handlers', [handler]),
                    ('propagate', False),
                ):
                    patch = mock.patch.object(logger, attribute, value)
                    stack.enter_context(patch)
            yield lines

    def callers(self, kind: Any) -> Iterator[tuple[str, Any]]:
        """Yield each caller, with the class of the command for it."""
        osc = type('Osc', (commands.UnderOpenStack, kind), {})
        for name, self.remote, one in (
            ('local', False, kind),
            ('http', True, kind),
            ('openstack', True, osc),
        ):
            yield name, one

    def assert_same(self, name: str, one: Outcome, other: Outcome) -> None:
        if name == 'openstack':  # whose hints name other programs
            one, other = one._replace(said=''), other._replace(said='')
        self.assertEqual(_neutral(one), _neutral(other))


class Change(NamedTuple):
    """One command that may change something, and what comes of it.

    :ivar asks: part of the question before it; none if empty.
    :ivar leaves: number and kind of the events that it leaves.
    :ivar shown: cells of what it shows, by column.
    :ivar said: parts of the lines on standard error.
    """

    words: str
    code: int = 0
    asks: str = ''
    leaves: str = ''
    shown: Mapping[str, list[Any]] = types.MappingProxyType({})
    said: tuple[str, ...] = ()


Prepare = Callable[['RowCase'], object]


def nothing(case: RowCase) -> None:
    """Run a row in the deployment as it is."""


class ChangeCase(RowCase):
    """Each row is run in a deployment of its own for each caller."""

    rows: Mapping[Prepare, tuple[tuple[Any, ...], ...]] = (
        types.MappingProxyType({})
    )

    def test_every_row_by_each_caller(self) -> None:
        for prepare, rows in self.rows.items():
            for row in (Change(*row) for row in rows):
                kind, words = self.find(row.words)
                first = None
                for name, one in self.callers(kind):
                    with self.subTest(row.words, caller=name):
                        self.renew()
                        prepare(self)
                        found = self.changed(row, one, words)
                        first = first or found
                        self.assert_same(name, first, found)

    def changed(self, row: Change, kind: Any, words: list[str]) -> Outcome:
        """Run a row, and check all that it says."""
        before = {event.id for event in self.records.events()}
        found = self.outcome(kind, [*words, '-f', 'json'])
        self.assertEqual(row.code, found.code, found.said)
        self.assert_shown(row.shown, found)
        self.assertEqual(bool(row.asks), bool(self.asked), self.asked)
        self.assertIn(row.asks, self.asked)
        if not issubclass(kind, commands.UnderOpenStack):
            for text in row.said:
                self.assertIn(text, found.said)
        events = [e for e in self.records.events() if e.id not in before]
        kinds = sorted(event.kind for event in events)
        left = [f'{kinds.count(kind)} {kind}' for kind in dict.fromkeys(kinds)]
        self.assertEqual(row.leaves, ', '.join(left))
        at = words.index('--reason') + 1 if '--reason' in words else 0
        for event in events:
            self.assertRegex(event.actor, 'operator|api@local')
            self.assertTrue(str(event.request_id).startswith('req-'))
            self.assertIn(words[at] if at else '', event.reason or '')
        return found

    def assert_shown(
        self, shown: Mapping[str, list[Any]], found: Outcome
    ) -> None:
        if not shown:
            return
        rows = json.loads(found.out)
        rows = rows if isinstance(rows, list) else [rows]
        for key, cells in shown.items():
            self.assertEqual(cells, [row[key] for row in rows], key)


def _neutral(one: Outcome) -> list[str]:
    return [_DIFFERS.sub('', str(part)) for part in one]
