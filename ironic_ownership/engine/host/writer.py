"""Carry out planned changes: in short transactions, and only with the right.

Decides nothing. Whatever a change expects of its record is the records' to
check.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable

from ironic_ownership.contracts.records import Change, Records
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.membership.fence import Fence

BATCH = 500
"""Changes in one transaction: short enough for others to get their turn."""


@dataclasses.dataclass
class Written:
    """What became of the changes.

    :param applied: number of those that were made.
    :param refused: those that lost a race.
    """

    applied: int = 0
    refused: list[Change] = dataclasses.field(default_factory=list)


class Writer:
    """Writes for one service.

    Threading: any thread.
    """

    def __init__(
        self,
        host: str,
        records: Records,
        fence: Fence,
        operator_log: OperatorLog,
    ) -> None:
        self._host = host
        self._records = records
        self._fence = fence
        self._operator_log = operator_log

    def write(self, changes: Iterable[Change]) -> Written:
        """Make these changes, batch by batch.

        :raises FencedError: if this service may not act, or no longer; the
            batches before that stay.
        :raises RecordsError: if the records do not answer.
        """
        written = Written()
        remaining = iter(changes)
        while batch := list(itertools.islice(remaining, BATCH)):
            # Asked once more at the end: the database may have kept us
            # waiting until after the fence.
            outcome = self._records.apply(
                self._host,
                self._fence.epoch(),
                batch,
                confirm=self._fence.epoch,
            )
            written.applied += len(outcome.applied)
            written.refused.extend(outcome.refused)
            for change in outcome.applied:
                self._operator_log.changed(change)
        return written
