"""Hints about indexes to databases whose planner would choose a bad one."""

from __future__ import annotations

from typing import Any

import sqlalchemy
from sqlalchemy.ext import compiler
from sqlalchemy.sql import expression


class Unindexed(expression.FunctionElement[Any]):
    """A column whose index SQLite does not use.

    SQLite takes the index of any column that a filter names, and then sorts
    all rows that it finds, for each page again. Without that index it walks
    the primary key in order, and stops at the end of the page. The other
    databases know how many rows a filter leaves, and decide by that.
    """

    inherit_cache = True

    def __init__(self, column: sqlalchemy.Column[Any]) -> None:
        super().__init__(column)
        self.type = column.type


@compiler.compiles(Unindexed)
def _other(element: Unindexed, visitor: Any, **kw: Any) -> str:
    return str(visitor.process(element.clauses, **kw))


@compiler.compiles(Unindexed, 'sqlite')
def _sqlite(element: Unindexed, visitor: Any, **kw: Any) -> str:
    # Source: https://www.sqlite.org/optoverview.html, "Disqualifying
    # WHERE-clause terms using unary +".
    return f'+{visitor.process(element.clauses, **kw)}'
