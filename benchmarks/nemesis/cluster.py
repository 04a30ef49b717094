"""A deployment on real servers: Ironic, records, members and services."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import subprocess
import sys
import threading
import types
from collections.abc import Mapping, Sequence
from typing import Self

from benchmarks.nemesis import members, records, scopes
from benchmarks.nemesis.hosts import CLOCK_DELAY, PATHS, HostProcess
from benchmarks.nemesis.settings import Settings
from lab import (
    enrolment,
    faketime,
    ironic,
    ironic_cache,
    preloaded,
    process,
    proxy,
)

HOSTS = ('ha', 'hb', 'hc', 'hd')
"""The services, which share all nodes."""

STANDBYS = ('ha', 'hb')
"""The services with two processes."""

_COMMAND_TIMEOUT = 150
_COMMAND = 'ironic_ownership.cmd.cli:main'
_DBSYNC = 'ironic_ownership.cmd.dbsync:main'
_KEY = 'a-key-of-the-nemesis-that-is-long-enough'
_BROKEN = {
    'PYTHONPATH': str(pathlib.Path(__file__).parents[1] / 'broken_middleware'),
    'KEPT': '60',
}
"""Environment of an Ironic whose middleware is broken."""

_IMPORTS = pathlib.Path(__file__).with_name('imports.py')


class Cluster:
    """Everything that runs, started and ended as a context.

    :param directory: an existing directory for all files.
    :ivar scopes: how the services share the nodes.
    :ivar processes: the host processes, by name.
    :ivar kinds: what some of its processes are, by process id.
    """

    def __init__(self, directory: pathlib.Path, settings: Settings) -> None:
        self.directory = directory
        self.settings = settings
        self.scopes = scopes.Scopes(settings.policy, HOSTS)
        self.ironic = ironic.Ironic(
            directory / 'ironic',
            environment=_BROKEN if settings.breaks_middleware else None,
        )
        self.enrolment = enrolment.Enrolment(self.ironic, repeatable=True)
        (directory / 'records').mkdir()
        (directory / 'records').chmod(0o755)
        self.records = records.RECORDS[settings.records](directory / 'records')
        self.members = members.build(
            settings.members, directory / 'members', self.records
        )
        self.processes: dict[str, HostProcess] = {}
        self._stack = contextlib.ExitStack()
        self._nodes_file = directory / 'nodes'
        self._nodes_lock = threading.Lock()
        self._hot: list[str] = []
        self._operator_files: list[pathlib.Path] = []
        self._operator_lock = threading.Lock()
        self.kinds: dict[int, str] = {}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self._stack.close()

    def _start(self) -> None:
        stack = self._stack
        stack.callback(self.records.stop)
        self.records.start()
        stack.callback(self.ironic.stop)
        if self.settings.request_interval:
            self.ironic.middleware = self._middleware()
        self.ironic.start()
        self._cache = ironic_cache.IronicCache(
            self.ironic.port, self.ironic.database
        )
        stack.callback(self._cache.stop)
        self.scopes.enrol(
            self.enrolment, self.settings.nodes, self.settings.deployed
        )
        stack.callback(self.members.stop)
        self.members.start()
        self._write_operator_files()
        self._commands = self._forks('commands', {})
        self._services = self._forks('services', {})
        still = self.directory / 'still.clock'
        still.mkdir()
        clock = faketime.Clock(still, CLOCK_DELAY)
        self._jumping = self._forks('services with a clock', clock.env)
        self._upgrade_schema()
        self.records.note_writers()
        for host in HOSTS:
            self._add(host, host)
        for host in STANDBYS:
            self._add(f'{host}2', host)
        self.ask_for([])
        for one in self.processes.values():
            one.start()

    def _middleware(self) -> Mapping[str, object]:
        return {
            'connection': self.records.url(
                'middleware', next(iter(self.records.ports), None)
            ),
            'shared_keys': _KEY,
            # It is the epoch that has to end the right of a late request.
            'signature_lifetime': 86400,
        }

    def _forks(self, kind: str, env: Mapping[str, str]) -> preloaded.Forks:
        log = self.directory / f'{kind}.log'
        python = pathlib.Path(sys.executable)
        made = preloaded.Forks(python, _IMPORTS, log, env)
        self._stack.callback(made.stop)
        self.kinds[made.pid] = kind
        return made

    def _add(self, name: str, host: str) -> None:
        number = len(self.processes)
        paths = {
            'records': self._proxies(self.records.ports, number),
            'members': self._proxies(
                self.members.ports,
                number if self.members.ports == self.records.ports else None,
            ),
            'ironic': [proxy.Proxy(self._cache.port)],
        }
        settings = self.settings
        one = HostProcess(
            name,
            host,
            self.directory,
            paths,
            self._text,
            number,
            self._services,
            self._jumping,
            [
                f'--nodes={self._nodes_file}',
                f'--interval={settings.ask_interval}',
                f'--request-interval={settings.request_interval}',
                f'--request-port={paths["ironic"][0].port}',
                f'--request-key={_KEY}',
            ],
        )
        if not settings.breaks_middleware:
            one.broken = settings.broken
        self.processes[name] = one
        self._stack.callback(one.close)

    @staticmethod
    def _proxies(
        ports: Sequence[int], first: int | None = None
    ) -> list[proxy.Proxy]:
        """Make the proxies of one path.

        :param first: number of the only server that is used, of several.
        """
        if ports and first is not None:
            ports = [ports[first % len(ports)]]
        return [proxy.Proxy(port) for port in ports]

    def _text(self, one: HostProcess) -> str:
        settings = self.settings
        ports = {path: [p.port for p in one.paths[path]] for path in PATHS}
        records_port = ports['records'][0] if ports['records'] else None
        parts: list[members.Sections] = [
            {
                'DEFAULT': {'host': one.host, 'log_file': one.log},
                'ownership': {
                    'policies': settings.policy,
                    'refresh_interval': settings.refresh_interval,
                    'recheck_interval': 5,
                },
                'membership': {
                    'heartbeat_interval': settings.heartbeat_interval,
                    'member_ttl': settings.ttl,
                    'fence_margin': 1,
                    'restart_grace': 0,
                },
                'database': {
                    'connection': self.records.url(one.login, records_port)
                },
                'ironic': {
                    **self.scopes.options(one.host),
                    'auth_type': 'none',
                    'endpoint_override': (
                        f'http://127.0.0.1:{ports["ironic"][0]}'
                    ),
                },
            },
            self.members.sections(one.login, ports['members']),
            one.changed,
        ]
        return _text_of(parts)

    def _write_operator_files(self) -> None:
        """Write a configuration for each server of the records."""
        for number, port in enumerate(self.records.ports or [None]):
            file = self.directory / f'operator{number}.conf'
            file.write_text(self._operator_text(port))
            self._operator_files.append(file)

    def _operator_text(self, port: int | None) -> str:
        members_ports = self.members.ports
        if port is not None and self.members.ports == self.records.ports:
            members_ports = [port]
        parts: list[members.Sections] = [
            {
                'DEFAULT': {'host': 'operator'},
                'ownership': {'policies': 'all'},
                'membership': {
                    'heartbeat_interval': self.settings.heartbeat_interval,
                    'member_ttl': self.settings.ttl,
                    'fence_margin': 1,
                },
                'database': {'connection': self.records.url('operator', port)},
                'ironic': {
                    'auth_type': 'none',
                    'endpoint_override': (
                        f'http://127.0.0.1:{self._cache.port}'
                    ),
                },
            },
            self.members.sections('operator', members_ports),
        ]
        return _text_of(parts)

    def _upgrade_schema(self) -> None:
        file = str(self._operator_files[0])
        code, output = self._run(_DBSYNC, ['--config-file', file, 'upgrade'])
        if code:
            raise process.LabError(f'no schema: {output}')

    def operate(self, *arguments: str) -> tuple[int, str]:
        """Run a command of the operator's command line.

        Each command uses the next server of the records.

        :returns: its exit code, and its output and errors.
        :raises LabError: if it does not end.
        """
        with self._operator_lock:
            self._operator_files.append(self._operator_files.pop(0))
            file = self._operator_files[0]
        return self._run(_COMMAND, ['--config-file', str(file), *arguments])

    def _run(self, program: str, arguments: Sequence[str]) -> tuple[int, str]:
        argv = ['ironic-ownership', *arguments]
        try:
            done = self._commands.run(
                program,
                argv,
                os.environ,
                timeout=_COMMAND_TIMEOUT,
                as_one=True,
            )
        except subprocess.TimeoutExpired as exc:
            raise process.LabError(str(exc)) from exc
        return done.returncode, done.stdout

    def uuids(self) -> list[str]:
        """Return the uuids of all nodes in Ironic, in a stable order."""
        return [uuid for uuid, _ in self._ironic_nodes()]

    def free(self) -> list[str]:
        """Return the nodes without an instance in Ironic."""
        return [uuid for uuid, used in self._ironic_nodes() if not used]

    def _ironic_nodes(self) -> list[tuple[str, str | None]]:
        # Without the lock that a writer holds.
        url = f'file:{self.ironic.database}?mode=ro'
        with contextlib.closing(
            sqlite3.connect(url, uri=True, timeout=30)
        ) as database:
            return database.execute(
                'SELECT uuid, instance_uuid FROM nodes ORDER BY uuid'
            ).fetchall()

    def ask_for(self, hot: list[str]) -> None:
        """Let all drivers ask for some nodes more often than for others."""
        with self._nodes_lock:
            self._hot = [*hot, *(u for u in self._hot if u not in hot)][:6]
            uuids = self.uuids()
            first = [uuid for uuid in self._hot if uuid in uuids]
            rest = [uuid for uuid in uuids if uuid not in first]
            new = self._nodes_file.with_suffix('.new')
            new.write_text('\n'.join([*first, *rest]) + '\n')
            new.rename(self._nodes_file)


def _text_of(parts: list[members.Sections]) -> str:
    merged: dict[str, dict[str, object]] = {}
    for part in parts:
        for group, options in part.items():
            merged.setdefault(group, {}).update(options)
    lines = []
    for group, options in merged.items():
        lines.append(f'[{group}]')
        lines += [f'{name} = {value}' for name, value in options.items()]
    return '\n'.join([*lines, ''])
