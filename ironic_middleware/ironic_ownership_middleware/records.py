"""The records: one query for each request, with a bound on its time.

Nothing is kept of an answer. Opened by the first request, because Ironic may
fork its workers after it has loaded the middleware.
"""

from __future__ import annotations

import concurrent.futures
import functools
import threading
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import tables
from ironic_ownership.db.connection import Database, open_database
from ironic_ownership_middleware.decision import NodeRow, ServiceRow

LOG = log.getLogger(__name__)

Answer = tuple[ServiceRow | None, Sequence[NodeRow]]

_THREADS = 16
"""Queries at the same time, and connections of one process."""

_services = tables.services.c
_nodes = tables.compute_nodes.c


class Records:
    """Reads the records of ironic-ownership.

    Threading: any thread.

    :param connection: URL of the database.
    :param timeout: seconds for one answer.
    :raises RecordsError: if the URL cannot work.
    """

    def __init__(self, connection: str, timeout: float) -> None:
        self._timeout = timeout
        self._open = functools.partial(
            open_database,
            connection,
            connect_timeout=timeout,
            statement_timeout=timeout,
            max_pool_size=_THREADS,
            pool_timeout=timeout,
        )
        self._open().close()  # only the URL is checked
        self._lock = threading.Lock()

    def read(
        self, service: str, uuids: Collection[str], names: Collection[str]
    ) -> Answer:
        """Return a service and nodes as they are at this moment.

        :raises RecordsError: if the records do not answer in time, or can't
            be read.
        """
        answer: concurrent.futures.Future[Answer] = concurrent.futures.Future()
        with self._lock:
            threads = self._threads
        threads.submit(self._read, answer, service, uuids, names)
        try:
            return answer.result(self._timeout)
        except concurrent.futures.TimeoutError as exc:
            answer.cancel()
            raise exceptions.RecordsUnavailableError(
                f'the records did not answer within {self._timeout:g} s'
            ) from exc

    def _read(
        self,
        answer: concurrent.futures.Future[Answer],
        service: str,
        uuids: Collection[str],
        names: Collection[str],
    ) -> None:
        """Set the answer, for which the request waits, or an error.

        The request goes on while the transaction ends and the connection goes
        back to the pool, which takes a quarter as long as the query.
        """
        if not answer.set_running_or_notify_cancel():
            return
        query = _query(bool(uuids), bool(names))
        given = {'service': service, 'uuids': [*uuids], 'names': [*names]}

        def work(conn: sa.Connection) -> None:
            answer.set_result(_answer(conn.execute(query, given).all()))

        try:
            with self._lock:
                database = self._database
            database.read(work)
        except Exception as exc:  # noqa: BLE001 - it goes to the request
            if answer.done():
                LOG.warning('A connection to the records was lost: %s', exc)
            else:
                answer.set_exception(exc)

    @functools.cached_property
    def _database(self) -> Database:
        return self._open()

    @functools.cached_property
    def _threads(self) -> concurrent.futures.ThreadPoolExecutor:
        return concurrent.futures.ThreadPoolExecutor(
            _THREADS, 'ironic-ownership'
        )


def _answer(rows: Sequence[Any]) -> Answer:
    if not rows:
        return None, ()
    nodes = [NodeRow(*row[3:]) for row in rows if row[3] is not None]
    return ServiceRow(*rows[0][:3]), nodes


@functools.cache  # building it takes as long as running it
def _query(by_uuid: bool, by_name: bool) -> sa.Select[Any]:
    """Select a service, and behind its columns those of each node.

    One row without a node if none is found.
    """
    # Each only where it is needed: names have no index.
    conditions = []
    if by_uuid:
        conditions.append(_nodes.uuid.in_(sa.bindparam('uuids')))
    if by_name:
        conditions.append(_nodes.name.in_(sa.bindparam('names')))
    # MariaDB would read all nodes to find that none is FALSE.
    which = sa.or_(*conditions) if conditions else _nodes.uuid == ''
    joined = tables.services.outerjoin(
        tables.compute_nodes, sa.and_(_nodes.deleted_at.is_(None), which)
    )
    return (
        sa.select(
            *(_services.epoch, _services.fenced, _services.forced_down),
            *(_nodes.uuid, _nodes.name, _nodes.host),
        )
        .select_from(joined)
        .where(_services.host == sa.bindparam('service'))
    )
