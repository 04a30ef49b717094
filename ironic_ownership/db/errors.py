"""Translate errors of SQLAlchemy, oslo.db and drivers to the contracts'.

One line each, with a hint; the driver's own text is kept because it names
the cause. Must not decide about retries: see ``connection``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from oslo_db import exception as db_exc
from sqlalchemy import exc as sa_exc

from ironic_ownership.contracts import exceptions

_UNAVAILABLE = (
    db_exc.DBConnectionError,
    db_exc.DBDeadlock,
    sa_exc.OperationalError,
    sa_exc.InterfaceError,
    sa_exc.TimeoutError,
)
_LONGEST = 300


@contextlib.contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise the contracts' errors instead of SQLAlchemy's and oslo.db's.

    :param where: the database as an operator knows it, without password.
    :raises RecordsUnavailableError: for an error that may pass by itself.
    :raises SchemaError: if a table or a column is missing.
    :raises RecordsError: for every other error of the database.
    """
    try:
        yield
    except db_exc.DBNonExistentDatabase as exc:
        raise exceptions.RecordsError(
            f'database {where} does not exist or cannot be opened',
            hint='Create it, or correct [database] connection',
        ) from exc
    except _UNAVAILABLE as exc:
        raise exceptions.RecordsUnavailableError(
            f'database {where} does not answer: {_one_line(exc)}',
            hint='Check that it runs and that [database] connection is right',
        ) from exc
    except (db_exc.DBNonExistentTable, sa_exc.ProgrammingError) as exc:
        raise exceptions.SchemaError(
            f'database {where} lacks a table or column: {_one_line(exc)}',
            hint='Run ironic-ownership-dbsync upgrade',
        ) from exc
    except (db_exc.DBError, sa_exc.SQLAlchemyError) as exc:
        raise exceptions.RecordsError(
            f'database {where} refused a statement: {_one_line(exc)}'
        ) from exc


@contextlib.contextmanager
def committing(where: str) -> Iterator[None]:
    """Name a commit without an answer, whose outcome is unknown.

    :raises RecordsUnavailableError: if the connection was lost.
    """
    try:
        yield
    except db_exc.DBConnectionError as exc:
        raise exceptions.RecordsUnavailableError(
            f'database {where} did not answer a commit: {_one_line(exc)}; '
            'the change may have been committed or not',
            hint='Read the records before you repeat it; a service does so '
            'automatically, and "move resume" continues a move',
        ) from exc


def _one_line(exc: BaseException) -> str:
    cause: BaseException = exc
    while True:
        inner = getattr(cause, 'inner_exception', None) or getattr(
            cause, 'orig', None
        )
        if inner is None or inner is cause:
            break
        cause = inner
    text = ' '.join(str(cause).split()).rstrip('.')
    return text if len(text) <= _LONGEST else text[:_LONGEST] + '...'
