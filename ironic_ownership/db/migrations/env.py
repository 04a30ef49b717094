"""Entry point of alembic: runs the migrations on the caller's connection.

The transaction is the caller's as well: on SQLite and PostgreSQL all steps
take effect, or none. MariaDB commits with each table that is changed, so an
upgrade that was killed leaves a part of its last step: what exists is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from alembic import context


def _skip_existing(impl: Any) -> None:
    """Let the operations of a step be repeated."""
    create_table, add_column = impl.create_table, impl.add_column

    def table(new: sa.Table, **how: Any) -> None:
        if not sa.inspect(impl.connection).has_table(new.name):
            create_table(new, **how)
            return
        for index in new.indexes:
            impl.create_index(index)

    def column(name: str, new: sa.Column[Any], **how: Any) -> None:
        if not _is_in(sa.inspect(impl.connection).get_columns(name), new):
            add_column(name, new, **how)

    def index(change: Callable[..., None], *, is_new: bool) -> Any:
        def run(one: Any, **how: Any) -> None:
            found = sa.inspect(impl.connection).get_indexes(one.table.name)
            if _is_in(found, one) is not is_new:
                change(one, **how)

        return run

    impl.create_table, impl.add_column = table, column
    impl.create_index = index(impl.create_index, is_new=True)
    impl.drop_index = index(impl.drop_index, is_new=False)


def _is_in(found: Iterable[Mapping[str, Any]], new: Any) -> bool:
    return new.name in {one['name'] for one in found}


context.configure(connection=context.config.attributes['connection'])
_skip_existing(context.get_context().impl)
context.run_migrations()
