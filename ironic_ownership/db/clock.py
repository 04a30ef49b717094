"""The database server's clock, the one clock that all processes share.

It decides liveness and writes every timestamp on record: a host whose own
clock is wrong is neither dead nor from the future.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy
from sqlalchemy.ext import compiler
from sqlalchemy.sql import expression


class EpochSeconds(expression.FunctionElement[float]):
    """The time of the statement, in seconds since 1970 (UTC)."""

    type = sqlalchemy.Double()
    # SQLAlchemy compiles a statement with it only once.
    inherit_cache = True


@compiler.compiles(EpochSeconds)
def _other(element: EpochSeconds, visitor: Any, **kw: Any) -> str:
    raise NotImplementedError(f'no clock for {visitor.dialect.name}')


@compiler.compiles(EpochSeconds, 'sqlite')
def _sqlite(element: EpochSeconds, visitor: Any, **kw: Any) -> str:
    # unixepoch('subsec') needs 3.42; milliseconds are all 'now' has.
    return "ROUND((julianday('now') - 2440587.5) * 86400.0, 3)"


@compiler.compiles(EpochSeconds, 'postgresql')
def _postgresql(element: EpochSeconds, visitor: Any, **kw: Any) -> str:
    # now() is the start of the transaction, which may have waited for a lock.
    return 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)'


@compiler.compiles(EpochSeconds, 'mysql', 'mariadb')
def _mysql(element: EpochSeconds, visitor: Any, **kw: Any) -> str:
    # UNIX_TIMESTAMP(NOW()) is ambiguous for an hour a year in local time;
    # the exponent makes the quotient a double instead of a decimal.
    return (
        "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1.0e6)"
    )
