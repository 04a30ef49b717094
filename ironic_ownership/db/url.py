"""Check of a database URL before anything connects to it.

The driver's own errors for a mistyped path come late and are hard to read.
Must not open a connection, nor the file: a process that closes a file gives up
all locks that it has on it, those of SQLite, too. Must never put a password
into a message.
"""

from __future__ import annotations

import os
import pathlib

import sqlalchemy
from sqlalchemy import exc as sa_exc

from ironic_ownership.contracts import exceptions, extras

SQLITE = 'sqlite'
POSTGRESQL = 'postgresql'
MYSQL = frozenset({'mysql', 'mariadb'})

_SHORTEST = 512
"""Bytes of the smallest page, and so of the smallest file of SQLite."""

_EXAMPLE = (
    'Set [database] connection to a URL such as '
    'sqlite:////var/lib/ironic-ownership/records.sqlite or '
    'mysql+pymysql://user:password@host/ironic_ownership'
)
_WHOLE_SCHEMES = dict.fromkeys(MYSQL, 'mysql+pymysql')
"""Schemes without a driver, whose default is not the one of our extra."""
_EXTRAS = {'mysql': 'mysql', 'mariadb': 'mysql', 'postgresql': 'postgresql'}


def read_url(connection: str) -> sqlalchemy.URL:
    """Return the URL of a database that could be opened.

    :raises RecordsError: if it is malformed, names a driver that is not
        installed, or a file that cannot be a database.
    """
    try:
        url = sqlalchemy.make_url(connection)
        dialect = url.get_dialect()
    except (sa_exc.ArgumentError, ValueError) as exc:
        # The text is not shown: an unreadable URL may hold a password.
        raise exceptions.RecordsError(
            '[database] connection is not a database URL', hint=_EXAMPLE
        ) from exc
    except (sa_exc.NoSuchModuleError, ImportError) as exc:
        raise _missing_driver(connection) from exc
    try:
        dialect.import_dbapi()
    except ImportError as exc:
        raise _missing_driver(connection) from exc
    if url.get_backend_name() == SQLITE:
        _check_file(url)
    elif url.get_backend_name() not in {POSTGRESQL, *MYSQL}:
        raise exceptions.RecordsError(
            f'[database] connection: {url.get_backend_name()} is not a '
            'supported database',
            hint='Use SQLite, PostgreSQL or MariaDB',
        )
    return url


def shown(url: sqlalchemy.URL) -> str:
    """Return a URL for messages: with its hosts, without its password.

    PostgreSQL's driver takes several hosts from the query.
    """
    hosts = url.query.get('host', ())
    several = ','.join((hosts,) if isinstance(hosts, str) else hosts)
    text = url.set(query={}).render_as_string(hide_password=True)
    if url.host or not several:
        return text
    user, at, database = text.rpartition('@')
    if not at:
        user, database = f'{url.drivername}://', database.split('//', 1)[1]
    return f'{user}{at}{several}{database}'


def is_file(connection: str) -> bool:
    """Tell whether a URL names an SQLite file. No other check is made."""
    return connection.partition(':')[0].partition('+')[0] == SQLITE


def _missing_driver(connection: str) -> exceptions.RecordsError:
    scheme = connection.partition(':')[0]
    extra = _EXTRAS.get(scheme.partition('+')[0])
    whole = _WHOLE_SCHEMES.get(scheme)
    hint = (
        f'Write {whole}:// in place of {scheme}://'
        if whole
        else extras.hint(extra)
        if extra
        else _EXAMPLE
    )
    return exceptions.RecordsError(
        f'[database] connection: no driver is installed for {scheme!r}',
        hint=hint,
    )


def _check_file(url: sqlalchemy.URL) -> None:
    name = url.database
    if not name or name == ':memory:' or 'mode=memory' in name:
        raise exceptions.RecordsError(
            '[database] connection: a database in memory is shared with no '
            'other process',
            hint='Name a file: sqlite:////path/to/records.sqlite',
        )
    if name.startswith('file:'):
        return
    path = pathlib.Path(name)
    try:
        if path.exists():
            _check_content(path)
        else:
            _check_directory(path)
    except OSError as exc:
        raise _unreadable(path) from exc


def _check_content(path: pathlib.Path) -> None:
    if not path.is_file():
        raise _file_error(path, 'it is not a regular file', _EXAMPLE)
    if not os.access(path, os.R_OK):
        raise _unreadable(path)
    if 0 < path.stat().st_size < _SHORTEST:
        raise not_a_database(path)  # SQLite would overwrite it
    # Even a reader writes: to the index of the log next to the file.
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise _file_error(
            path,
            'this user may not write to it and to its directory',
            'Grant that, or run as a user with that access',
        )


def _check_directory(path: pathlib.Path) -> None:
    parent = path.absolute().parent
    if not parent.is_dir():
        raise _file_error(
            path, 'its directory does not exist', f'Create {parent}'
        )
    if not os.access(parent, os.W_OK | os.X_OK):
        raise _file_error(
            path,
            'it does not exist and its directory is not writable',
            f'Give this user write access to {parent}',
        )


def not_a_database(path: object) -> exceptions.RecordsError:
    """Return the error for a file of another kind."""
    return _file_error(
        path, 'it is not an SQLite database', 'Name another file'
    )


def _unreadable(path: pathlib.Path) -> exceptions.RecordsError:
    return _file_error(
        path,
        'it cannot be read',
        'Give this user read and write access to the file and its directory',
    )


def _file_error(path: object, what: str, hint: str) -> exceptions.RecordsError:
    return exceptions.RecordsError(
        f'[database] connection: {path}: {what}', hint=hint
    )
