"""Members that die, or seem to, at the moment that a test has chosen.

Real time is for the tests of expiry itself. Elsewhere a dead process is
forgotten when the test is ready for it, however slow the machine.
"""

from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.db import dialects, tables
from tests.functional.support import hosts


def bury(deployment: hosts.Deployment, *names: str) -> None:
    """Let the time of dead members be over now."""
    members = tables.members.c
    for host in names:
        statement = (
            sa.update(tables.members)
            .where(members.host == host)
            # As another membership: its last heartbeat was seen a moment ago.
            .values(
                expires_at=dialects.EpochSeconds(),
                joined_at=members.joined_at - 1,
            )
        )
        changed = deployment.database.write(
            lambda conn, statement=statement: conn.execute(statement).rowcount
        )
        assert changed == 1, f'{host} is no member'


def freeze(deployment: hosts.Deployment, host: hosts.Host) -> None:
    """Stop a process at a moment when it does not lock the SQLite database.

    :raises sqlite3.OperationalError: if there is no such moment in time.
    """
    # While the lock is ours, the process cannot be stopped with it.
    with deployment.locked(hosts.TIMEOUT):
        host.freeze()
