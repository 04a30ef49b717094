"""Carry out planned changes: in short transactions, and only with the right.

Decides nothing. Whatever a change expects of its record is the records' to
check.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable

from ironic_ownership.contracts import records as records_
from ironic_ownership.engine.hosting import journal
from ironic_ownership.engine.members import fence

BATCH = 500
"""Changes in one transaction: short enough for others to get their turn."""


@dataclasses.dataclass
class Written:
    """What became of the changes.

    :param applied: number of those that were made.
    :param refused: those that lost a race.
    """

    applied: int = 0
    refused: list[records_.Change] = dataclasses.field(default_factory=list)


class Writer:
    """Writes for one service.

    Threading: any thread.
    """

    def __init__(
        self,
        host: str,
        records: records_.Records,
        fence_: fence.Fence,
        journal_: journal.Journal,
    ) -> None:
        self._host = host
        self._records = records
        self._fence = fence_
        self._journal = journal_

    def write(self, changes: Iterable[records_.Change]) -> Written:
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
                self._journal.changed(change)
        return written
