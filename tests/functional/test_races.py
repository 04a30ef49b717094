"""Several writers on one database of each kind: nothing is lost or doubled.

One statement in the middle of a transaction of another: ``test_overlaps``.
"""

from __future__ import annotations

import collections
import concurrent.futures
import itertools
import multiprocessing
import threading
import unittest
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, moves
from ironic_ownership.contracts.records import Release, Update
from ironic_ownership.db import connection, heartbeats, schema, tables
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from tests.contract import database
from tests.contract.suites import records as suite
from tests.functional.support import databases, laws

NODES = 100
BATCH = 25
WORKERS = 4
TIMEOUT = 180.0

# Forks of a process with these imports, and with nothing of this one.
_PROCESSES = multiprocessing.get_context('forkserver')
_PROCESSES.set_forkserver_preload([__name__])


def _open(url: str) -> SqlRecords:
    return SqlRecords(connection.open_database(url))


def take_all(
    url: str, host: str, numbers: list[int], **seen: Any
) -> tuple[str, set[str]]:
    """Claim nodes in batches; return the host, and those that it got."""
    access = _open(url)
    epoch = access.register(host, suite.SETTINGS)
    won: set[str] = set()
    for first in range(0, len(numbers), BATCH):
        changes = [
            suite.claim(number, **seen)
            for number in numbers[first : first + BATCH]
        ]
        outcome = access.apply(host, epoch, changes)
        won |= {change.uuid for change in outcome.applied}
    access.close()
    return host, won


def work_and_beat(url: str, host: str, rounds: int) -> tuple[int, int]:
    """Beat, claim and release own nodes: each has to succeed."""
    member = heartbeats.DatabaseBackend(
        {'connection': url}, member_ttl=60, call_timeout=30
    )
    member.join(host, f'one of {host}', suite.SETTINGS)
    access = _open(url)
    epoch = access.register(host, suite.SETTINGS)
    mine = [int(host[4:]) * 1000 + number for number in range(5)]
    applied = 0
    for _ in range(rounds):
        member.beat()
        for changes in (
            [suite.claim(number) for number in mine],
            [Release(suite.uuid(number)) for number in mine],
        ):
            applied += len(access.apply(host, epoch, changes).applied)
    seen = len(member.view().members)
    member.close()
    access.close()
    return applied, seen


def upgrade_schema(url: str, revision: str = 'head') -> str | None:
    database = connection.open_database(url)
    try:
        return schema.upgrade(database, revision)
    finally:
        database.close()


def ensure_schema(url: str) -> str | None:
    database = connection.open_database(url)
    schema.ensure(database)
    return database.revision()


class Processes:
    """Races of processes on every database, at ``fresh_url``."""

    def fresh_urls(self) -> list[str]:
        """Return the URLs of one database, of which processes take turns."""
        return [self.fresh_url()]

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.urls = self.fresh_urls()
        self.database = connection.open_database(self.urls[0])
        self.addCleanup(self.database.close)
        schema.upgrade(self.database)
        self.records = SqlRecords(self.database)
        self.pool = concurrent.futures.ProcessPoolExecutor(WORKERS, _PROCESSES)
        self.addCleanup(self.pool.shutdown)

    def run_all(self, work, *arguments, **more):
        urls = itertools.cycle(self.urls)
        futures = [
            self.pool.submit(work, next(urls), *each, **more)
            for each in arguments
        ]
        return [future.result(timeout=TIMEOUT) for future in futures]

    def changes_by_node(self) -> collections.Counter:
        return collections.Counter(
            event.node_uuid
            for event in self.records.events(limit=100_000)
            if event.kind == 'owner_changed'
        )

    def test_node_is_claimed_once_if_it_is_free_or_of_a_dead_host(
        self,
    ) -> None:
        dead = self.records.register('dead', suite.SETTINGS)
        theirs = range(NODES, 2 * NODES)
        self.records.apply('dead', dead, [suite.claim(n) for n in theirs])
        for changes, first, seen in (
            (1, 0, {}),
            (2, NODES, {'seen_host': 'dead', 'seen_epoch': dead}),
        ):
            numbers = [*range(first, first + NODES)]
            starts = [n * NODES // WORKERS for n in range(WORKERS)]
            won = self.run_all(
                take_all,
                *(
                    (f'host{start}', numbers[start:] + numbers[:start])
                    for start in starts
                ),
                **seen,
            )
            everything = [uuid for _, some in won for uuid in some]
            self.assertEqual(
                sorted(map(suite.uuid, numbers)), sorted(everything)
            )
            owners = {n.uuid: n.host for n in self.records.compute_nodes()}
            counted = self.changes_by_node()
            for host, some in won:
                for uuid in some:
                    self.assertEqual(
                        (host, changes), (owners[uuid], counted[uuid])
                    )
        row = self.records.service('dead')
        self.assertEqual((True, dead + 1), (row.fenced, row.epoch))

    def test_no_write_and_no_beat_is_lost_under_load(self) -> None:
        rounds = 20
        outcomes = self.run_all(
            work_and_beat, *((f'host{n}', rounds) for n in range(WORKERS))
        )
        self.assertEqual(
            [rounds * 10] * WORKERS, [applied for applied, _ in outcomes]
        )
        changes = self.changes_by_node()
        self.assertEqual({rounds * 2}, set(changes.values()))
        self.assertEqual(WORKERS * 5, len(changes))


class Moves:
    """Two operators move all nodes of ``old``, which is still at work."""

    numbers = range(1, 41)

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.records = SqlRecords(self.database)
        self.epoch = self.records.register('old', suite.SETTINGS)
        for host in ('one', 'two'):
            self.records.register(host, suite.SETTINGS)
        instances = {n: suite.uuid(1000 + n) for n in self.numbers if n % 2}
        claims = [
            suite.claim(n, instance_uuid=instances.get(n))
            for n in self.numbers
        ]
        self.records.apply('old', self.epoch, claims)
        self.records.set_service('old', actor='test', disabled=True)

    def opened(self) -> connection.Database:
        opened = self.open_database()
        self.addCleanup(opened.close)
        return opened

    def mover(self, to: str, *, backwards: bool) -> Callable[[], None]:
        """Plan a move of all nodes; return what carries it out in batches."""
        stored = SqlMoves(self.opened())
        nodes = [
            moves.NodeMove(r.uuid, 'old', self.epoch, r.instance_uuid)
            for r in sorted(
                self.records.compute_nodes(),
                key=lambda r: r.uuid,
                reverse=backwards,
            )
        ]
        stored.plan(moves.Move(f'req-{to}', to, 'test'), nodes)

        def carry_out() -> None:
            for first in range(0, len(nodes), 5):
                stored.carry_out(f'req-{to}', nodes[first : first + 5])

        return carry_out

    def writer(self) -> Callable[[], None]:
        """Return what writes for the source as long as it may."""
        source = SqlRecords(self.opened())

        def write() -> None:
            with self.assertRaises(exceptions.FencedError):
                for turn in range(10_000):
                    updates = [
                        Update(suite.node(n, name=f'n{n} {turn}'))
                        for n in self.numbers
                        if n % 2 == 0  # else it would close their instances
                    ]
                    source.apply('old', self.epoch, updates)

        return write

    def test_each_node_goes_to_one_service_and_the_source_is_fenced(
        self,
    ) -> None:
        works = (
            self.mover('one', backwards=False),
            self.mover('two', backwards=True),
            self.writer(),
        )
        start = threading.Barrier(len(works))

        def run(work: Callable[[], None]) -> None:
            start.wait(TIMEOUT)
            work()

        with concurrent.futures.ThreadPoolExecutor(len(works)) as threads:
            for done in [threads.submit(run, work) for work in works]:
                done.result(TIMEOUT)
        stored = SqlMoves(self.database)
        owners = {r.uuid: r.host for r in self.records.compute_nodes()}
        won = {
            node.uuid: to
            for to in ('one', 'two')
            for node in stored.nodes(f'req-{to}', state=moves.NodeState.MOVED)
        }
        self.assertEqual(owners, won)
        self.assertEqual(len(self.numbers), len(won))
        self.assertEqual([], list(stored.separated()))
        self.assertEqual([], list(stored.moves(unfinished=True)))
        self.assertEqual([], laws.violations(self.records))


class Schemas:
    """Processes that change the schema together."""

    def assert_all_succeed(
        self, work: Callable[[str], str | None], revision: str | None = None
    ) -> None:
        with concurrent.futures.ProcessPoolExecutor(
            WORKERS, _PROCESSES
        ) as pool:
            for _ in range(3):
                url = self.fresh_url()
                if revision:
                    upgrade_schema(url, revision)
                found = list(pool.map(work, [url] * WORKERS))
                self.assertEqual([tables.HEAD] * WORKERS, found)

    def test_processes_that_create_or_upgrade_it_all_succeed(self) -> None:
        self.assert_all_succeed(upgrade_schema)
        self.assert_all_succeed(upgrade_schema, '0011')


class _OnSqlite:
    def fresh_url(self) -> str:
        return databases.SQLITE.fresh()


class _OnPostgreSQL:
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.fresh()


class _OnMariaDB:
    def fresh_url(self) -> str:
        return databases.MARIADB.fresh()


class TestProcessesOnSqlite(_OnSqlite, Processes, unittest.TestCase):
    pass


class TestProcessesOnPostgreSQL(_OnPostgreSQL, Processes, unittest.TestCase):
    pass


class TestProcessesOnMariaDB(_OnMariaDB, Processes, unittest.TestCase):
    pass


class TestMovesOnPostgreSQL(_OnPostgreSQL, Moves, database.OnDatabase):
    pass


class TestMovesOnMariaDB(_OnMariaDB, Moves, database.OnDatabase):
    pass


class TestSchemasOnSqlite(_OnSqlite, Schemas, unittest.TestCase):
    def test_processes_that_start_together_all_find_it(self) -> None:
        self.assert_all_succeed(ensure_schema)


class TestSchemasOnPostgreSQL(_OnPostgreSQL, Schemas, unittest.TestCase):
    pass


class TestSchemasOnMariaDB(_OnMariaDB, Schemas, unittest.TestCase):
    def test_upgrade_is_committed_when_its_lock_is_released(self) -> None:
        url = self.fresh_url()
        database, other = (connection.open_database(url) for _ in range(2))
        self.addCleanup(database.close)
        self.addCleanup(other.close)
        seen: list[str | None] = []

        def look(_conn, _cursor, statement, *_more) -> None:
            if 'release_lock' in statement:
                seen.append(other.revision())

        sa.event.listen(sa.Engine, 'before_cursor_execute', look)
        self.addCleanup(
            sa.event.remove, sa.Engine, 'before_cursor_execute', look
        )
        schema.upgrade(database)
        self.assertEqual([tables.HEAD], seen)
