"""Members that die, or seem to, at the moment that a test has chosen.

Real time is for the tests of expiry itself. Elsewhere a dead process is
forgotten, or kept, when the test is ready for it, however slow the machine.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import sqlalchemy as sa

from ironic_ownership.db import dialects, tables
from tests.functional.support import hosts


@contextlib.contextmanager
def kept(
    deployment: hosts.Deployment, host: str, incarnation: str | None
) -> Iterator[None]:
    """Beat for a dead process."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(0.5):
            _expire_in(deployment, host, 3600, incarnation)

    beating = threading.Thread(target=beat)
    _expire_in(deployment, host, 3600, incarnation)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()


def bury(deployment: hosts.Deployment, *names: str) -> None:
    """Let the time of dead members be over now."""
    for host in names:
        _expire_in(deployment, host, 0)


def bury_process(
    deployment: hosts.Deployment, host: str, incarnation: str | None
) -> None:
    """Let the time of one process be over now; others of the host stay."""
    _expire_in(deployment, host, 0, incarnation)


def _expire_in(
    deployment: hosts.Deployment,
    host: str,
    seconds: float,
    incarnation: str | None = None,
) -> None:
    members = tables.members.c
    chosen = members.host == host
    if incarnation is not None:
        chosen &= members.incarnation == incarnation
    statement = (
        sa.update(tables.members)
        .where(chosen)
        # As another membership: its last heartbeat was seen a moment ago.
        .values(
            expires_at=dialects.EpochSeconds() + seconds,
            joined_at=members.joined_at - 1,
        )
    )
    changed = deployment.database.write(
        lambda conn: conn.execute(statement).rowcount
    )
    assert changed == 1, f'{host} is no member'


def freeze(deployment: hosts.Deployment, host: hosts.Host) -> None:
    """Stop a process at a moment when it does not lock the SQLite database.

    :raises sqlite3.OperationalError: if there is no such moment in time.
    """
    # While the lock is ours, the process cannot be stopped with it.
    with deployment.locked(hosts.TIMEOUT):
        host.freeze()
