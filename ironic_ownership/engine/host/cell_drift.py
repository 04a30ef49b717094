"""Rows of a Nova cell that another program changed: found, and corrected.

Next to a cell each owner compares the rows of its own nodes with the
records, once in a refresh. It corrects those of free nodes, under its epoch. A
node with an instance is left to an operator, and is not served meanwhile.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from oslo_log import log

from ironic_ownership.contracts.cell import Drift
from ironic_ownership.engine.membership.service_context import ServiceContext

LOG = log.getLogger(__name__)


@dataclasses.dataclass
class CellDrift:
    """The drift of one service's nodes.

    :ivar left: the nodes that an operator has to move, by the last check.
    """

    context: ServiceContext
    left: Sequence[Drift] = ()

    def correct(self, epoch: int) -> None:
        """Correct the rows of free nodes, and log the others.

        Without a cell this does nothing.

        :raises FencedError: if the epoch is no longer the current one.
        :raises RecordsError: if the database does not answer.
        """
        cell = self.context.ports.cell
        if cell is None:
            return
        host = self.context.host
        found = cell.drift(host)
        free = [one.uuid for one in found if one.instance_uuid is None]
        corrected = set(cell.repair(host, epoch, free)) if free else set()
        for one in found:
            if one.uuid in corrected:
                LOG.warning(
                    'The row of node %s in the cell named %s, and was '
                    'corrected: it is on record with %s.',
                    *(one.uuid, one.host, host),
                )
        left = [one for one in found if one.uuid not in corrected]
        known = {one.uuid for one in self.left}
        for one in left:
            if one.uuid not in known:
                LOG.error(
                    'The node %s is on record with %s. Its row in the cell '
                    'names %s, and the instance %s is on it. See '
                    '"ironic-ownership nova check".',
                    *(one.uuid, host, one.host, one.instance_uuid),
                )
        self.left = left
