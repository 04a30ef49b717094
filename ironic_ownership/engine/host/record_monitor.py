"""Poll of the own records when another client has changed something.

Every transaction that decides from the row of a service raises its revision:
a move, a release, a claim of another service. So a process that embeds the
service learns of a node that was moved away before its next refresh, and
without a query of all records as long as nothing happens.
"""

from __future__ import annotations

import dataclasses
import threading

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.host.feed import Feed
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.worker import Worker

LOG = log.getLogger(__name__)

_NO_NODES = model.Scope(nothing=True)


@dataclasses.dataclass(eq=False)
class RecordMonitor(Worker):
    """Keeps the feed of a service up to date between two refreshes.

    :param refresh: set when own nodes are not in the feed: a refresh is due.
    """

    context: ServiceContext
    feed: Feed
    refresh: threading.Event

    def __post_init__(self) -> None:
        super().__post_init__()
        self._revision: int | None = None

    def row_read(self, row: model.Service) -> None:
        """Take the own row as it was just read. Any thread."""
        if row.revision != self._revision:
            self._revision = row.revision
            self.wake()

    def step(self) -> None:
        """Poll after a change."""
        try:
            self.poll()
        except exceptions.OwnershipError as exc:
            LOG.debug('own records not read, left to a refresh: %s', exc)
            self.refresh.set()
        except Exception:  # the next change must find this thread alive
            LOG.exception('reading the own records failed unexpectedly')

    def poll(self) -> None:
        """Compare the feed with the own records. One query.

        :raises RecordsError: if the records do not answer.
        """
        mark, host = self.feed.mark(), self.context.host
        found = self.context.ports.records.near(host, _NO_NODES)
        own = {record.uuid for record in found}
        if self.feed.retain(mark, own):
            self.refresh.set()
