"""The process that wrote an event, as the database server knows it.

Two processes of one host write under the same name, so the records alone
can't tell a standby that took over from a frozen process that woke up and
wrote again. Each process logs in to the database under a name of its
own, and a column that only the server fills keeps it. SQLite has no users.
"""

from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.db import connection

_COLUMN = 'written_by'
_NAME = {
    'postgresql': "current_setting('application_name')",
    'mysql': "substring_index(user(), '@', 1)",
}


def watch(database: connection.Database) -> None:
    """Have the server note who writes each event from now on."""
    if database.is_file:
        return
    name = _NAME[database.engine.dialect.name]
    with database.engine.begin() as conn:
        conn.exec_driver_sql(
            f'ALTER TABLE events ADD COLUMN {_COLUMN} VARCHAR(128) '
            f'DEFAULT ({name})'
        )


def login(url: str, process: str, port: int | None = None) -> str:
    """Return a URL under which a process is known to the server.

    :param port: where to connect to; as in the URL if not given.
    """
    made = sa.make_url(url)
    if made.get_backend_name() == 'sqlite':
        return url
    if made.get_backend_name() == 'postgresql':
        made = made.update_query_dict({'application_name': process})
    else:
        made = made.set(username=process)
    if port is not None:
        made = made.set(port=port)
    return made.render_as_string(hide_password=False)


def read(database: connection.Database) -> dict[int, str]:
    """Return the process that wrote each event, by the event's id."""
    if database.is_file:
        return {}
    with database.engine.connect() as conn:
        found = conn.exec_driver_sql(f'SELECT id, {_COLUMN} FROM events')
        return {row.id: row[1] for row in found}
