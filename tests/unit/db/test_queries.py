"""Hints about indexes: SQLite alone gets them."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.db import queries
from tests.unit.db import sqlite

FILTERS = (
    NodeFilter(),
    NodeFilter(host='h'),
    NodeFilter(shard='s', conductor_group='g'),
)


class TestPages(sqlite.SqliteCase):
    def test_sqlite_walks_the_primary_key_without_sorting(self) -> None:
        database = self.open_with_schema()
        for chosen in FILTERS:
            statement = queries.page(chosen, 'a', 10).compile(
                database.engine, compile_kwargs={'literal_binds': True}
            )
            plan = database.read(
                lambda conn, text=f'EXPLAIN QUERY PLAN {statement}': (
                    conn.execute(sa.text(text)).all()
                )
            )
            steps = ' '.join(step.detail for step in plan)
            self.assertIn('(uuid>?)', steps, chosen)
            self.assertNotIn('ORDER BY', steps, chosen)

    def test_other_databases_decide_themselves(self) -> None:
        for dialect in (postgresql.dialect(), mysql.dialect()):
            for chosen in FILTERS:
                statement = queries.page(chosen, 'a', 10)
                text = str(statement.compile(dialect=dialect))
                self.assertNotIn('+', text, dialect.name)
