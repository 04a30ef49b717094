"""Hints about indexes: SQLite alone gets them."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.db import connection, dialects, moves, queries
from tests.unit.db import sqlite

FILTERS = (
    NodeFilter(),
    NodeFilter(host='h'),
    NodeFilter(shard='s', conductor_group='g'),
)


def page(chosen: NodeFilter) -> sa.Select:
    """Return the statement of one page of a filter."""
    statement = queries.chosen(chosen, dialects.Unindexed)
    return queries.page(statement, 'a', 10)


def plan_of(database: connection.Database, statement: sa.Select) -> str:
    """Return the steps by which SQLite runs a statement."""
    text = statement.compile(
        database.engine, compile_kwargs={'literal_binds': True}
    )
    steps = database.read(
        lambda conn: conn.execute(sa.text(f'EXPLAIN QUERY PLAN {text}')).all()
    )
    return ' '.join(step.detail for step in steps)


class TestPlans(sqlite.SqliteCase):
    def test_unfinished_moves_are_found_by_an_index_alone(self) -> None:
        steps = plan_of(self.open_with_schema(), sa.select(moves.UNFINISHED))
        self.assertNotIn('SCAN node_moves', steps)
        index = 'SEARCH node_moves USING COVERING INDEX'
        for search in ('(state=?)', '(state=? AND trial=?)'):
            self.assertIn(f'{index} ix_node_moves_unfinished {search}', steps)

    def test_sqlite_walks_the_primary_key_without_sorting(self) -> None:
        database = self.open_with_schema()
        for chosen in FILTERS:
            steps = plan_of(database, page(chosen))
            self.assertIn('(uuid>?)', steps, chosen)
            self.assertNotIn('ORDER BY', steps, chosen)
            # Other databases decide themselves.
            for dialect in (postgresql.dialect(), mysql.dialect()):
                text = str(page(chosen).compile(dialect=dialect))
                self.assertNotIn('+', text, dialect.name)
