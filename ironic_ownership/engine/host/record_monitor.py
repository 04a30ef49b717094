"""Poll of the own records when another client has changed something.

Every transaction that decides from the row of a service raises its revision:
a move, a release, a claim of another service. So a process that embeds the
service learns of a node that was moved away before its next refresh, and
without a query of all records as long as nothing happens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import model
from ironic_ownership.engine.host.feed import Feed
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.worker import Worker

LOG = log.getLogger(__name__)

_NO_NODES = model.Scope(nothing=True)


@dataclasses.dataclass(eq=False)
class RecordMonitor(Worker):
    """Keeps the feed of a service up to date between two refreshes.

    :param refresh: called when own nodes are not in the feed.
    """

    context: ServiceContext
    feed: Feed
    refresh: Callable[[], None]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._revision: int | None = None

    def row_read(self, row: model.Service) -> None:
        """Take the own row as it was just read. Any thread."""
        if row.revision != self._revision:
            self._revision = row.revision
            self.wake()

    def step(self) -> None:
        """Compare the feed with the own records. One query.

        :raises RecordsError: if the records do not answer.
        """
        mark, host = self.feed.mark(), self.context.host
        found = self.context.ports.records.near(host, _NO_NODES)
        own = {record.uuid for record in found}
        if self.feed.retain(mark, own):
            self.refresh()

    def failed(self, error: Exception) -> None:
        """Leave the records to a refresh, which reports such an error."""
        LOG.debug('own records not read, left to a refresh: %s', error)
        self.refresh()
