"""A database with several writers that certify by written rows, as Galera.

Each process uses one server. A transaction runs on its server alone; at its
commit it is refused if a row that it has written was written by another one
that its server had not applied when it began. What it only read is not
protected. So it is for unique values. The other servers apply the rows a
moment later.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sqlite3
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exc

from ironic_ownership.db import connection, tables
from tests.simulation.database import Connection, Database
from tests.simulation.loop import Loop, Process

SERVERS = 3

_LATEST = 0.2
"""Seconds after which the other servers apply a commit, at most."""

_KEYS = {
    table.name: " || '/' || ".join(c.name for c in table.primary_key)
    for table in tables.metadata.sorted_tables
    if len(table.primary_key)
}
"""The key of a row, as SQL, by its table."""

_UNIQUE = [
    (table.name, [column.name for column in found.columns])
    for table in tables.metadata.sorted_tables
    for found in (*table.constraints, *table.indexes)
    if isinstance(found, sa.UniqueConstraint) or getattr(found, 'unique', 0)
]
"""Columns whose values no two rows of a table have."""

_Key = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class _Commit:
    number: int
    rows: dict[_Key, tuple[Any, ...] | None]


class Cluster(Database):
    """Three servers, and one that shows what is committed."""

    numbers = tuple(range(SERVERS + 1))

    def __init__(self, loop: Loop, idle: float) -> None:
        super().__init__(loop, idle)
        self._last: dict[_Key, int] = {}
        self._commits = 0
        self._waiting_for: dict[int, list[_Commit]] = {
            number: [] for number in self.numbers[1:]
        }
        for file in self.files[1:]:
            _record_writes(file.reader)

    def port(self, process: Process) -> connection.Database:
        number = 1 + sum(map(ord, process.name)) % SERVERS
        return self.files[number].port

    def restore(self, copy: bytes) -> None:
        super().restore(copy)
        for number in self._waiting_for:
            self._waiting_for[number].clear()
            _record_writes(self.files[number].reader)

    def unlock(self, mine: Connection) -> None:
        super().unlock(mine)
        if mine.number and not self.loop.is_over:
            self._apply(mine.number)

    def begin(self, mine: Connection) -> None:
        """Begin with all that was committed; later commits are not seen."""
        number = mine.number
        self.wait(
            mine,
            lambda: not self._apply(number) and self.writer(number) is None,
        )
        self.lock(mine)
        mine.seen = self._commits

    def catch_up(self, mine: Connection) -> None:
        self.wait(mine, lambda: not self._apply(mine.number))

    def certify(self, mine: Connection) -> None:
        """Compare the rows that it has written, then let all have them."""
        found = set(mine.rows_written())
        if any(self._last.get(key, 0) > mine.seen for key in found):
            mine.abort(db_exc.DBDeadlock)
            raise db_exc.DBDeadlock('certification failed')
        rows = {
            key: mine.row(*key, _KEYS[key[0]])
            for key in sorted(found)
            if key[0] in _KEYS
        }
        mine.forget_written()
        self._commits += 1
        self._last |= dict.fromkeys(found, self._commits)
        commit = _Commit(self._commits, rows)
        _write(self.files[0].reader, commit)
        for number, waiting in self._waiting_for.items():
            if number != mine.number:
                waiting.append(commit)
                self.loop.spawn(
                    self.loop.world,
                    'replication',
                    functools.partial(self._apply, number),
                    self.loop.rng.random() * _LATEST,
                )

    def _apply(self, number: int) -> bool:
        """Apply what others have committed; tell whether some is left."""
        waiting = self._waiting_for[number]
        while waiting:
            running = self.writer(number)
            if running is not None:
                if not waiting[0].rows.keys() & set(running.rows_written()):
                    return True
                running.abort(db_exc.DBDeadlock)
                continue
            _write(self.files[number].reader, waiting.pop(0))
            self.wake()
        return False


def _record_writes(reader: sqlite3.Connection) -> None:
    """Let a server note the keys of the rows that a transaction writes."""
    reader.execute('CREATE TABLE written_rows (name TEXT, key TEXT)')
    keys = [
        (name, [part.strip() for part in key.split("|| '/' ||")])
        for name, key in _KEYS.items()
    ]
    for name, columns in (*keys, *_UNIQUE):
        noted = name
        if (name, columns) in _UNIQUE:
            noted = '.'.join((name, *columns))
        for event, rows in (
            ('INSERT', ('NEW',)),
            ('UPDATE', ('OLD', 'NEW')),
            ('DELETE', ('OLD',)),
        ):
            notes = ''
            for row in rows:
                key = " || '/' || ".join(f'{row}.{one}' for one in columns)
                notes += (
                    f"INSERT INTO written_rows SELECT '{noted}', {key} "
                    f'WHERE {key} IS NOT NULL; '
                )
            reader.execute(
                f'CREATE TRIGGER "written_{noted}_{event}" AFTER {event} '
                f'ON {name} BEGIN {notes} END'
            )


def _write(reader: sqlite3.Connection, commit: _Commit) -> None:
    # Left in a transaction, the database could not be restored.
    with contextlib.closing(reader.cursor()) as cursor, reader:
        cursor.execute('BEGIN IMMEDIATE')
        for name, key in commit.rows:
            cursor.execute(
                f'DELETE FROM {name} WHERE {_KEYS[name]} = ?', (key,)
            )
        # After all of them: a row may have the unique value of another
        # before.
        for (name, _), row in commit.rows.items():
            if row is not None:
                places = ', '.join('?' * len(row))
                cursor.execute(f'INSERT INTO {name} VALUES ({places})', row)
        if cursor.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'written_rows'"
        ).fetchone():
            cursor.execute('DELETE FROM written_rows')
