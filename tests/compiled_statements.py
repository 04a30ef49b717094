"""Statements are compiled once for all databases of a test process.

Almost every test opens a database of its own. SQLAlchemy would compile each
statement again for it, which takes a quarter of the time of such a test.
"""

from __future__ import annotations

import collections
from typing import Any

import sqlalchemy as sa

_MOST = 3000
"""Statements that are kept: those of one test's own tables are many."""


class _Statements(dict[tuple[Any, ...], Any]):
    """The statements of one kind of server; the key begins with a dialect."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get(key[1:], default)

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        if len(self) >= _MOST:
            self.clear()
        super().__setitem__(key[1:], compiled)


_KINDS: dict[object, _Statements] = collections.defaultdict(_Statements)


@sa.event.listens_for(sa.Engine, 'engine_connect')
def _share(conn: sa.Connection) -> None:
    kind = type(conn.dialect), conn.dialect.server_version_info
    conn.execution_options(compiled_cache=_KINDS[kind])
