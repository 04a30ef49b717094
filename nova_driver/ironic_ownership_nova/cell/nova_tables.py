"""Nova's tables as the loops and the checks of a service see them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership_nova.cell.companion import Cell
from ironic_ownership_nova.cell.model import Drift
from ironic_ownership_nova.cell.port import SqlCell

if TYPE_CHECKING:
    from ironic_ownership.engine.ports import Placement
    from ironic_ownership_nova.cell.problems import CellRows

LOG = log.getLogger(__name__)


@dataclasses.dataclass
class NovaTables:
    """The tables of one cell, next to the records.

    :ivar transactions: the part of the transactions of owners.
    :ivar left: own nodes that an operator has to move, by the last check.
    """

    port: SqlCell
    transactions: Cell
    left: Sequence[Drift] = ()

    def follow_settings(self, actor: str) -> None:
        """Write settings that Nova's API changed into the records.

        The settings of the cell count at once. But a process that was frozen
        in a write is stopped by the records only, so every service writes
        what it finds.

        :raises RecordsError: if the database does not answer.
        """
        for host in self.port.follow_settings(actor):
            LOG.warning(
                'Nova has disabled, enabled or forced down the service %s: '
                'the records follow.',
                host,
            )

    def try_to_follow_settings(self, actor: str) -> None:
        """Write changed settings; a refresh repeats what fails."""
        try:
            self.follow_settings(actor)
        except exceptions.RecordsError as exc:
            LOG.debug('the settings of the cell are not followed: %s', exc)

    def correct(self, host: str, epoch: int) -> Sequence[str]:
        """Correct the rows of free nodes that another program changed.

        Each owner does so for its own nodes, once in a refresh. A node with
        an instance is left to an operator, and is not served meanwhile.

        :returns: the uuids of those nodes.
        :raises FencedError: if the epoch is no longer the current one.
        :raises RecordsError: if the database does not answer.
        """
        found = self.port.drift(host)
        free = [one.uuid for one in found if one.instance_uuid is None]
        corrected = set(self.port.repair(host, epoch, free)) if free else set()
        for one in found:
            if one.uuid in corrected:
                LOG.warning(
                    'The row of node %s in the cell named %s, and was '
                    'corrected: it is on record with %s.',
                    *(one.uuid, one.host or 'no host', host),
                )
        left = [one for one in found if one.uuid not in corrected]
        known = {one.uuid for one in self.left}
        for one in left:
            if one.uuid not in known:
                LOG.error(
                    'The node %s is on record with %s. Its row in the cell '
                    'names %s, and %s. See "ironic-ownership nova check".',
                    *(one.uuid, host, one.host or 'no host'),
                    f'the instance {one.instance_uuid} is on it'
                    if one.instance_uuid
                    else 'cannot be corrected',
                )
        self.left = left
        return [one.uuid for one in left]

    def read(
        self,
        attempt: Callable[..., Any],
        placement: Callable[[], Placement | None],
    ) -> CellRows:
        """Read what the checks evaluate."""
        from ironic_ownership.engine.queries.deployment import Part
        from ironic_ownership_nova.cell.problems import CellRows

        drift = attempt(Part.CELL, self.port.drift)
        strays = attempt(Part.CELL, self.port.stray_rows)
        opened = attempt(Part.PLACEMENT, placement)
        hidden = opened and attempt(Part.PLACEMENT, opened.hidden_from_nova)
        return CellRows(drift or (), strays or (), hidden or frozenset())
