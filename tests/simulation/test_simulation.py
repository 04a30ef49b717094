"""The laws hold in simulated schedules, and the checker can see them broken.

Each run is a process of its own, without random hashes: a seed repeats it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
import sqlite3
import subprocess
import sys
import unittest

import sqlalchemy as sa
from oslo_db import exception as db_exc

from ironic_ownership.db import tables
from tests.simulation import cluster, mutants, stories, threads
from tests.simulation.database import Connection
from tests.simulation.loop import Loop, Process, SpinningError

FIXED = '20000'
THREE = ('--schedules', '3')


def simulate(*options: str, module: str = 'tests.simulation') -> str:
    """Run schedules; return the output, which names the seeds."""
    found = subprocess.run(
        [sys.executable, '-m', module, *options],
        capture_output=True,
        text=True,
        env={**os.environ, 'PYTHONHASHSEED': '0'},
        check=False,
    )
    output = found.stdout + found.stderr
    if found.returncode:
        raise AssertionError(output)
    return output


class TestLaws(unittest.TestCase):
    def test_stories_fixed_and_fresh_schedules_break_no_law(self) -> None:
        simulate('--seed', FIXED, '--minutes', '0.3', '--stories', '1')
        print(simulate('--minutes', '0.3'))

    def test_seed_repeats_a_schedule(self) -> None:
        first, second = (
            re.findall('digest (.*)', simulate('--seed', FIXED, *THREE))
            for _ in range(2)
        )
        self.assertEqual(first, second)


class TestLoop(unittest.TestCase):
    def test_threads_that_never_wait_are_found(self) -> None:
        def spin() -> None:
            due = threads.Event()
            due.set()
            while True:
                # As a loop of the product: it goes on after any error.
                with contextlib.suppress(Exception):
                    due.wait()

        for number in (1, 2):
            with self.subTest(threads=number):
                loop = Loop(1)
                with threads.running(loop):
                    for _ in range(number):
                        loop.spawn(loop.world, 'spin', spin)
                    with self.assertRaisesRegex(SpinningError, 'spin'):
                        loop.run(10, lambda: False)
                    loop.end()


class TestCluster(unittest.TestCase):
    """The database with several writers, without a product around it."""

    def setUp(self) -> None:
        super().setUp()
        self.loop = Loop(1)
        self.database = cluster.Cluster(self.loop, 60.0)
        self.numbers = itertools.count(1)
        self.database.committed = lambda *_: None
        self.addCleanup(setattr, Connection, 'database', None)

    def insert(self, *requests: str) -> list[type[BaseException] | None]:
        """Insert a move for each request, each on a server of its own."""
        errors: list[type[BaseException] | None] = []

        def insert(server: int, request: str) -> None:
            insertion = sa.insert(tables.moves).values(
                id=next(self.numbers),
                request_id=request,
                destination='ha',
                actor='operator',
                overrides='',
                created_at=0.0,
            )
            engine = self.database.files[server].port._writer
            try:
                with engine.connect() as conn:
                    conn.execute(insertion)
                    conn.commit()
                errors.append(None)
            except Exception as exc:  # noqa: BLE001 - which is the result
                errors.append(type(exc))

        for given in enumerate(requests, 1):
            process = Process(self.loop, f'client {given}')
            self.loop.spawn(
                process, 'insert', functools.partial(insert, *given)
            )
        self.loop.run(self.loop.now + 10, lambda: False)
        return errors

    def test_unique_values_are_certified(self) -> None:
        self.assertEqual([None, None], self.insert('a', 'b'))
        errors = self.insert('c', 'c')
        self.assertEqual({None, db_exc.DBDeadlock}, set(errors))

    def test_it_is_restored_after_a_server_failed_to_apply_a_commit(
        self,
    ) -> None:
        copy = self.database.save()
        self.insert('a')
        reader = self.database.files[2].reader
        row = cluster._Commit(9, {('moves', '9'): (9, 'too few values')})
        with self.assertRaises(sqlite3.OperationalError):
            cluster._write(reader, row)
        self.database.restore(copy)
        found = self.database.query('SELECT * FROM moves').fetchall()
        self.assertEqual([], found)


class TestStories(unittest.TestCase):
    def test_each_story_is_documented(self) -> None:
        page = (mutants.ROOT / 'doc/source/know/stories.rst').read_text()
        for path in stories.DIRECTORY.iterdir():
            self.assertIn(f'stories/{path.name}\n', page)


class TestPower(unittest.TestCase):
    def test_broken_products_are_found(self) -> None:
        for mutant in (
            'writers are not checked',
            'the middleware does not compare the epoch',
        ):
            with self.subTest(mutant):
                output = simulate(mutant, module='tests.simulation.mutants')
                self.assertIn('0 survivors', output)

    def test_each_mutant_changes_one_place(self) -> None:
        for mutant in mutants.MUTANTS:
            for file, old, _ in mutant.edits:
                path = mutants.ROOT / mutants.PACKAGE / file
                with self.subTest(mutant.name, file=file):
                    self.assertEqual(1, path.read_text().count(old))
