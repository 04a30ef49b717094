"""Settings of services that Nova's API changed: written into the records.

The settings of the cell count at once. But a process that was frozen in a
write is stopped by the records only, so every service writes what it finds.
"""

from __future__ import annotations

import dataclasses

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.membership.service_context import ServiceContext

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class CellSettings:
    """Settings of all services of one cell. Without a cell, nothing."""

    context: ServiceContext

    def follow(self) -> None:
        """Write changed settings; one that is forced down is fenced by that.

        :raises RecordsError: if the database does not answer.
        """
        cell = self.context.ports.cell
        if cell is None:
            return
        for host in cell.follow_settings(self.context.host):
            LOG.warning(
                'Nova has disabled, enabled or forced down the service %s: '
                'the records follow.',
                host,
            )

    def try_to_follow(self) -> None:
        """Write changed settings; a refresh repeats what fails."""
        try:
            self.follow()
        except exceptions.RecordsError as exc:
            LOG.debug('the settings of the cell are not followed: %s', exc)
