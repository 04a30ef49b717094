"""Real host processes for tests, and the records and Ironic they share.

Each process has a configuration file and a log of its own. What a test waits
for it reads from the records, as any other client of them.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import time
from collections.abc import (
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from typing import ClassVar

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import heartbeats, tables
from ironic_ownership.db.connection import Database, open_database
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.policies import peer_list
from lab import process
from tests.functional.support import (
    command_line,
    databases,
    host_process,
    ironics,
    laws,
)

Host = host_process.Host
COMMAND, TIMEOUT = host_process.COMMAND, host_process.TIMEOUT
Sections = Mapping[str, Mapping[str, object]]

FAST: Sections = {
    'ownership': {'refresh_interval': 1, 'recheck_interval': 1},
    'membership': {
        'heartbeat_interval': 1,
        # Long for a process that starves on a slow machine, short for a test
        # that waits for an expiry, or until a peer may declare a death.
        'member_ttl': 10,
        'fence_margin': 1,
        # A test that stops a service does not wait for it to be gone.
        'restart_grace': 0,
    },
}


def text_of(*parts: Sections) -> str:
    merged: dict[str, dict[str, object]] = {}
    for part in parts:
        for group, options in part.items():
            merged.setdefault(group, {}).update(options)
    lines = []
    for group, options in merged.items():
        lines.append(f'[{group}]')
        lines += [f'{name} = {value}' for name, value in options.items()]
    return '\n'.join([*lines, ''])


class Deployment:
    """Several hosts on one database and one Ironic.

    :param connection: URL of the records' database; SQLite if not given.
    :ivar more: sections of the configuration of every process.
    :ivar command: what the next processes run: the host, if nothing.
    :ivar environment: variables for the next processes.
    """

    command: Sequence[str] = ()
    environment: Mapping[str, str] | None = None

    def __init__(self, endpoint: str, connection: str | None = None) -> None:
        self.directory = databases.temporary_directory('hosts')
        self.connection = connection or (
            f'sqlite:///{self.directory}/records.sqlite'
        )
        self.endpoint = endpoint
        self.hosts: list[Host] = []
        self.more: Sections = {}

    def start(
        self,
        name: str,
        policies: str = 'peer_list',
        **sections: object,
    ) -> Host:
        """Start one more process, and return at once.

        :param sections: options by group; for the group ``DEFAULT`` too.
        """
        host = Host(
            self.directory,
            name.lower(),
            text_of(
                FAST,
                {
                    'DEFAULT': {'host': name},
                    'ownership': {'policies': policies},
                    **self._shared(),
                },
                self.more,
                sections,  # type: ignore[arg-type]
            ),
            self.command,
            self.environment,
        )
        host.process.start()
        self.hosts.append(host)
        return host

    def stop(self) -> None:
        for host in self.hosts:
            host.kill()

    def close(self) -> None:
        self.records.close()

    @functools.cached_property
    def database(self) -> Database:
        """The records' database, for what their interface does not tell."""
        return open_database(self.connection)

    @functools.cached_property
    def records(self) -> SqlRecords:
        return SqlRecords(self.database)

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.records.compute_nodes()}

    def owned_by(self, host: str) -> set[str]:
        return {uuid for uuid, owner in self.owners().items() if owner == host}

    def view(self) -> model.View:
        """Return the members that have not expired."""
        found = heartbeats.last(self.database)
        return model.View.of(beat.member for beat in found if beat.left > 0)

    def members(self) -> frozenset[str]:
        return self.view().hosts

    def service(self, host: str) -> model.Service:
        rows = self.records.services()
        return next(row for row in rows if row.host == host)

    def informed(self) -> frozenset[str]:
        """Return the members that know all members.

        A service that decides before that does so without the others.
        """
        view = self.view()
        # By columns that every release has: the schema may be an older one.
        row = tables.services.c
        statement = sa.select(row.host).where(
            row.view_checksum == view.checksum
        )
        found = self.database.select(statement, lambda row: row.host)
        return view.hosts.intersection(found)

    def see_each_other(self, *names: str) -> bool:
        return set(names) == self.informed() == self.members()

    def wait_for_members(self, *names: str) -> None:
        """Wait until these are the members, and each knows them all."""
        self.wait_until(
            lambda: self.see_each_other(*names), f'members {names}'
        )

    def events(self) -> list[model.Event]:
        return [*reversed(self.records.events(limit=1_000_000))]

    @contextlib.contextmanager
    def locked(self, timeout: float = 30) -> Iterator[None]:
        """Lock the SQLite database against all writers."""
        path = self.database.engine.url.database
        with contextlib.closing(
            sqlite3.connect(path, timeout=timeout)
        ) as conn:
            conn.execute('BEGIN IMMEDIATE')
            try:
                yield
            finally:
                conn.rollback()

    def wait_until(
        self, ready: Callable[[], object], what: str = 'change'
    ) -> None:
        """Wait for what the hosts are to do.

        :raises AssertionError: with the hosts' troubles, if it takes longer
            than any operator would wait.
        """
        deadline = time.monotonic() + TIMEOUT
        pausing = process.pauses()
        while not self._is(ready):
            if time.monotonic() > deadline:
                troubles = '\n'.join(host.troubles() for host in self.hosts)
                raise AssertionError(
                    f'no {what} within {TIMEOUT:g} s\n{troubles}'
                )
            next(pausing)

    def _is(self, ready: Callable[[], object]) -> bool:
        try:
            return bool(ready())
        except exceptions.RecordsError:  # no schema yet, or a busy database
            return False

    def wait_for_owners(self, expected: Mapping[str, str | None]) -> None:
        self.wait_until(
            lambda: self.owners() == expected, f'owners {expected}'
        )

    def wait_for_ring(
        self, uuids: Collection[str], members: Collection[str]
    ) -> dict[str, str]:
        """Wait until each node has the owner that the ring says.

        :returns: these owners.
        """
        owners = dict(
            zip(uuids, peer_list.Ring(members).owners(uuids), strict=True)
        )
        self.wait_until(
            lambda: owners.items() <= self.owners().items(),
            f'owners {owners}',
        )
        return owners

    def wait_for_lines(self, text: str, count: int = 1) -> None:
        """Wait until each process has logged something so many times."""
        for host in self.hosts:
            self.wait_until(
                lambda host=host: len(host.lines(text)) >= count,  # type: ignore[misc]
                f'{count} times "{text}" of {host.name}',
            )

    def operate(self, *words: str) -> command_line.Done:
        """Run a command as an operator on this database and this Ironic."""
        path = self.directory / 'operator.conf'
        path.write_text(text_of(FAST, self._shared(), self.more))
        return command_line.run('--config-file', str(path), *words)

    def _shared(self) -> Sections:
        """Return the options of all processes, operators' included."""
        return {
            'database': {'connection': self.connection},
            'ironic': {
                'auth_type': 'none',
                'endpoint_override': self.endpoint,
            },
        }

    def wait_for_beats(self, host: str, beats: int) -> None:
        """Wait until a member has had this many more heartbeats."""
        seen: set[float] = set()

        def enough() -> bool:
            with self.database.engine.connect() as conn:
                seen.update(
                    conn.exec_driver_sql(
                        f"SELECT expires_at FROM members WHERE host = '{host}'"
                    ).scalars()
                )
            return len(seen) > beats

        self.wait_until(enough, f'{beats} heartbeats of {host}')


class HostsTestCase(ironics.IronicTestCase):
    """Tests of one class share an Ironic; each has its own records.

    After each test its whole history must have kept the laws.

    :cvar rings: policies by which the services of these tests share nodes.
    """

    rings: ClassVar[frozenset[str]] = laws.RINGS

    def setUp(self) -> None:
        super().setUp()
        # The first node ever is only made to be copied, and deleted again: no
        # service may see it.
        self.enrolment.enrol(0)
        self.deployment = self.deploy()

    def deploy(self, connection: str | None = None) -> Deployment:
        """Prepare a deployment whose history is checked at the end."""
        deployment = Deployment(self.endpoint, connection)
        self.addCleanup(deployment.close)
        self.addCleanup(self.assert_lawful, deployment)
        self.addCleanup(deployment.stop)
        return deployment

    def assert_lawful(self, deployment: Deployment) -> None:
        """Prove the laws by the history, and the records by it."""
        try:
            violations = laws.violations(
                deployment.records, laws.Evidence(rings=self.rings)
            )
        except exceptions.SchemaError:
            return  # a test whose hosts never got to work
        self.assertEqual([], violations)
