"""Several real processes on one database: nothing is lost or doubled."""

from __future__ import annotations

import collections
import concurrent.futures
import itertools
import multiprocessing
import unittest

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import Claim, Outcome, Release
from ironic_ownership.db import (
    connection,
    dialects,
    heartbeats,
    records,
    registration,
    schema,
    tables,
)
from ironic_ownership.db.transaction import Transaction
from tests.functional.support import databases

NODES = 200
WORKERS = 4

# Forks of a process with these imports, and with nothing of this one.
_PROCESSES = multiprocessing.get_context('forkserver')
_PROCESSES.set_forkserver_preload([__name__])
BATCH = 25


def uuid(number: int) -> str:
    return f'00000000-0000-0000-0000-{number:012d}'


def _open(url: str) -> records.SqlRecords:
    return records.SqlRecords(connection.open_database(url))


def claim_all(url: str, host: str, start: int) -> list[str]:
    """Claim every node, each process from another start."""
    access = _open(url)
    epoch = access.register(host, model.MemberSettings())
    numbers = [(start + n) % NODES for n in range(NODES)]
    won = []
    for first in range(0, NODES, BATCH):
        changes = [
            Claim(model.Node(uuid(n)), reasons.Reason.ASSIGNED)
            for n in numbers[first : first + BATCH]
        ]
        outcome = access.apply(host, epoch, changes)
        won += [change.uuid for change in outcome.applied]
    access.close()
    return won


def take_from_dead(url: str, host: str, epoch: int) -> list[str]:
    """Take every node from the host that all others think dead."""
    access = _open(url)
    own = access.register(host, model.MemberSettings())
    changes = [
        Claim(model.Node(uuid(n)), reasons.Reason.ASSIGNED, 'dead', epoch)
        for n in range(NODES)
    ]
    won = []
    for first in range(0, NODES, BATCH):
        outcome = access.apply(host, own, changes[first : first + BATCH])
        won += [change.uuid for change in outcome.applied]
    access.close()
    return won


def work_and_beat(url: str, host: str, rounds: int) -> tuple[int, int]:
    """Beat, claim and release own nodes: each has to succeed."""
    member = heartbeats.DatabaseBackend(
        {'connection': url}, member_ttl=60, call_timeout=30
    )
    member.join(host, f'one of {host}', model.MemberSettings())
    access = _open(url)
    epoch = access.register(host, model.MemberSettings())
    mine = [model.Node(uuid(int(host[4:]) * 1000 + n)) for n in range(5)]
    applied = 0
    for _ in range(rounds):
        member.beat()
        for changes in (
            [Claim(node, reasons.Reason.EXCLUSIVE) for node in mine],
            [Release(node.uuid) for node in mine],
        ):
            applied += len(access.apply(host, epoch, changes).applied)
    seen = len(member.view().members)
    member.close()
    access.close()
    return applied, seen


def race_for_schema(url: str) -> str | None:
    database = connection.open_database(url)
    schema.ensure(database)
    return schema.version(database)


def upgrade_schema(url: str) -> str | None:
    return schema.upgrade(connection.open_database(url))


def join_once(url: str, incarnation: str) -> None:
    member = heartbeats.DatabaseBackend(
        {'connection': url}, member_ttl=60, call_timeout=30
    )
    member.join('host1', incarnation, model.MemberSettings())
    member.close()


def register_once(url: str, incarnation: str, alive: list[str]) -> str:
    """Register one of several live processes; return the active one."""
    access = _open(url)
    try:
        access.register(
            'host1',
            model.MemberSettings(),
            incarnation=incarnation,
            alive=alive,
        )
    except exceptions.StandbyError as exc:
        return exc.active
    finally:
        access.close()
    return incarnation


class Races:
    """Laws that hold on every database, at ``fresh_url``."""

    def fresh_urls(self) -> list[str]:
        """Return the URLs of one database, of which processes take turns."""
        return [self.fresh_url()]

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.urls = self.fresh_urls()
        self.url = self.urls[0]
        self.database = connection.open_database(self.url)
        self.addCleanup(self.database.close)
        schema.upgrade(self.database)
        self.records = records.SqlRecords(self.database)
        self.pool = concurrent.futures.ProcessPoolExecutor(WORKERS, _PROCESSES)
        self.addCleanup(self.pool.shutdown)

    def run_all(self, work, *arguments):
        urls = itertools.cycle(self.urls)
        futures = [self.pool.submit(work, next(urls), *a) for a in arguments]
        return [future.result(timeout=120) for future in futures]

    def owners_by_event(self) -> collections.Counter:
        return collections.Counter(
            event.node_uuid
            for event in self.records.events(limit=100_000)
            if event.kind == 'owner_changed'
        )

    def test_each_node_is_claimed_exactly_once(self) -> None:
        won = self.run_all(
            claim_all,
            *((f'host{n}', n * NODES // WORKERS) for n in range(WORKERS)),
        )
        everything = [one for some in won for one in some]
        self.assertEqual(sorted(map(uuid, range(NODES))), sorted(everything))
        for number, some in enumerate(won):
            owned = {
                n.uuid
                for n in self.records.compute_nodes()
                if n.host == f'host{number}'
            }
            self.assertEqual(set(some), owned)
        self.assertEqual({1}, set(self.owners_by_event().values()))

    def test_nodes_of_a_dead_host_are_taken_once_and_it_is_fenced(
        self,
    ) -> None:
        epoch = self.records.register('dead', model.MemberSettings())
        self.records.apply(
            'dead',
            epoch,
            [
                Claim(model.Node(uuid(n)), reasons.Reason.ASSIGNED)
                for n in range(NODES)
            ],
        )
        won = self.run_all(
            take_from_dead, *((f'host{n}', epoch) for n in range(WORKERS))
        )
        everything = [one for some in won for one in some]
        self.assertEqual(sorted(map(uuid, range(NODES))), sorted(everything))
        dead = next(s for s in self.records.services() if s.host == 'dead')
        self.assertEqual((True, epoch + 1), (dead.fenced, dead.epoch))
        self.assertEqual({2}, set(self.owners_by_event().values()))

    def write_during(self, epoch, change, statement) -> Outcome:
        """Let host1 write while another's statement is not committed yet."""
        late = _open(self.url)
        self.addCleanup(late.close)
        with concurrent.futures.ThreadPoolExecutor(1) as threads:

            def work(conn: sa.Connection) -> concurrent.futures.Future:
                conn.execute(statement)
                writing = threads.submit(late.apply, 'host1', epoch, [change])
                # Enough for a writer that does not wait to be through.
                concurrent.futures.wait([writing], timeout=0.5)
                return writing

            return self.database.write(work).result(timeout=60)

    def test_writer_that_is_being_fenced_waits_and_is_refused(self) -> None:
        epoch = self.records.register('host1', model.MemberSettings())
        claim = Claim(model.Node(uuid(1)), reasons.Reason.EXCLUSIVE)
        with self.assertRaises(exceptions.FencedError):
            self.write_during(
                epoch,
                claim,
                sa.update(tables.services).values(
                    epoch=epoch + 1, fenced=True
                ),
            )
        self.assertEqual([], list(self.records.compute_nodes()))

    def test_claim_of_a_free_node_waits_for_a_faster_one(self) -> None:
        epoch = self.records.register('host1', model.MemberSettings())
        claim = Claim(model.Node(uuid(1)), reasons.Reason.EXCLUSIVE)
        self.records.apply('host1', epoch, [claim, Release(uuid(1))])
        outcome = self.write_during(
            epoch, claim, sa.update(tables.compute_nodes).values(host='host2')
        )
        self.assertEqual((claim,), outcome.refused)
        (node,) = self.records.compute_nodes()
        self.assertEqual('host2', node.host)

    def test_service_that_registers_keeps_no_node_that_is_taken(self) -> None:
        epoch = self.records.register('host1', model.MemberSettings())
        node = model.Node(uuid(1))
        self.records.apply(
            'host1', epoch, [Claim(node, reasons.Reason.ASSIGNED)]
        )
        table = tables.compute_nodes
        self.database.write(
            lambda conn: conn.execute(sa.update(table).values(host='unknown'))
        )
        late = _open(self.url)
        self.addCleanup(late.close)
        claim = Claim(node, reasons.Reason.ASSIGNED, 'unknown', None)
        with concurrent.futures.ThreadPoolExecutor(1) as threads:

            def work(conn: sa.Connection) -> concurrent.futures.Future:
                registration.register(
                    Transaction(conn), 'unknown', model.MemberSettings()
                )
                writing = threads.submit(late.apply, 'host1', epoch, [claim])
                concurrent.futures.wait([writing], timeout=0.5)
                return writing

            outcome = self.database.write(work).result(timeout=60)
        self.assertEqual((claim,), outcome.refused)

    def test_no_write_and_no_beat_is_lost_under_load(self) -> None:
        rounds = 20
        outcomes = self.run_all(
            work_and_beat, *((f'host{n}', rounds) for n in range(WORKERS))
        )
        self.assertEqual(
            [rounds * 10] * WORKERS, [applied for applied, _ in outcomes]
        )
        changes = self.owners_by_event()
        self.assertEqual({rounds * 2}, set(changes.values()))
        self.assertEqual(WORKERS * 5, len(changes))

    def test_processes_that_join_as_one_host_are_all_members(self) -> None:
        everyone = [f'number{n}' for n in range(WORKERS)]
        self.run_all(join_once, *((one,) for one in everyone))
        member = heartbeats.DatabaseBackend(
            {'connection': self.url}, member_ttl=60, call_timeout=30
        )
        self.addCleanup(member.close)
        self.assertEqual(set(everyone), member.view().incarnations('host1'))

    def test_of_processes_that_register_together_one_is_active(self) -> None:
        everyone = [f'number{n}' for n in range(WORKERS)]
        found = self.run_all(
            register_once, *((one, everyone) for one in everyone)
        )
        (service,) = self.records.services()
        self.assertEqual([service.incarnation] * WORKERS, found)
        events = self.records.events()
        self.assertEqual(
            1, sum(e.kind == 'service_registered' for e in events)
        )

    def test_registration_waits_for_a_faster_process(self) -> None:
        epoch = self.records.register('host1', model.MemberSettings())
        faster = sa.update(tables.services).values(
            epoch=epoch + 1, incarnation='faster'
        )
        with concurrent.futures.ThreadPoolExecutor(1) as threads:

            def work(conn: sa.Connection) -> concurrent.futures.Future:
                conn.execute(faster)
                late = threads.submit(
                    register_once, self.url, 'late', ['faster', 'late']
                )
                # Enough for one that does not wait to have read.
                concurrent.futures.wait([late], timeout=0.5)
                return late

            late = self.database.write(work)
            self.assertEqual('faster', late.result(timeout=60))
        (service,) = self.records.services()
        self.assertEqual(
            ('faster', epoch + 1), (service.incarnation, service.epoch)
        )

    def test_claim_waits_for_an_owner_that_is_just_retiring(self) -> None:
        one = self.records.register('host1', model.MemberSettings())
        two = self.records.register('host2', model.MemberSettings())
        node = model.Node(uuid(1))
        self.records.apply(
            'host2', two, [Claim(node, reasons.Reason.ASSIGNED)]
        )
        claim = Claim(node, reasons.Reason.ASSIGNED, 'host2', two)
        table = tables.services
        retirement = (
            sa.update(table)
            .where(table.c.host == 'host2')
            .values(
                epoch=two + 1,
                fenced=True,
                away_until=dialects.EpochSeconds() + 600,
            )
        )
        outcome = self.write_during(one, claim, retirement)
        self.assertEqual((claim,), outcome.refused)
        (found,) = self.records.compute_nodes()
        self.assertEqual('host2', found.host)


class TestRacesOnSqlite(Races, unittest.TestCase):
    def fresh_url(self) -> str:
        return databases.SQLITE.fresh()


class TestRacesOnPostgreSQL(Races, unittest.TestCase):
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.fresh()


class TestRacesOnMariaDB(Races, unittest.TestCase):
    def fresh_url(self) -> str:
        return databases.MARIADB.fresh()


class _SchemaRaces:
    """Laws of schemas on every database, at ``fresh_url``."""

    def check_race(self, work, *revisions: str) -> None:
        """Have processes do the same together, repeatedly."""
        with concurrent.futures.ProcessPoolExecutor(
            WORKERS, _PROCESSES
        ) as pool:
            for _ in range(3):
                url = self.fresh_url()
                for revision in revisions:
                    database = connection.open_database(url)
                    schema.upgrade(database, revision)
                    database.close()
                found = list(pool.map(work, [url] * WORKERS))
                self.assertEqual([schema.HEAD] * WORKERS, found)

    def test_processes_that_create_it_together_all_succeed(self) -> None:
        self.check_race(upgrade_schema)

    def test_processes_that_upgrade_it_together_all_succeed(self) -> None:
        self.check_race(upgrade_schema, '0011')


class TestSchemaRacesOnSqlite(_SchemaRaces, unittest.TestCase):
    def fresh_url(self) -> str:
        return databases.SQLITE.fresh()

    def test_processes_that_start_together_all_find_the_schema(self) -> None:
        self.check_race(race_for_schema)


class TestSchemaRacesOnPostgreSQL(_SchemaRaces, unittest.TestCase):
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.fresh()


class TestSchemaRacesOnMariaDB(_SchemaRaces, unittest.TestCase):
    def fresh_url(self) -> str:
        return databases.MARIADB.fresh()

    def test_upgrade_is_committed_when_its_lock_is_released(self) -> None:
        url = self.fresh_url()
        database, other = (connection.open_database(url) for _ in range(2))
        self.addCleanup(database.close)
        self.addCleanup(other.close)
        seen: list[str | None] = []

        def look(_conn, _cursor, statement, *_more) -> None:
            if 'release_lock' in statement:
                seen.append(schema.version(other))

        sa.event.listen(sa.Engine, 'before_cursor_execute', look)
        self.addCleanup(
            sa.event.remove, sa.Engine, 'before_cursor_execute', look
        )
        schema.upgrade(database)
        self.assertEqual([schema.HEAD], seen)
