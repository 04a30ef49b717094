"""Background thread that reports each refresh to Placement.

Claims never wait for it, regardless of how slow Placement is. An outage is
logged once and retried with growing pauses, without waiting for a refresh.
The content of the reports is not known here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.worker import Worker, back_off

LOG = log.getLogger(__name__)

LONGEST_PAUSE = 60.0
"""Longest pause between retries, in seconds, while Placement is down."""


@dataclasses.dataclass
class Counts:
    """Progress of the reports, for metrics; read by any thread.

    :ivar written: reports that Placement accepted, since the start.
    :ivar refused: providers whose last report it refused.
    :ivar pending: providers that are out of date.
    """

    written: int = 0
    refused: int = 0
    pending: int = 0


class Reporter(Protocol):
    """Reports one refresh."""

    @property
    def counts(self) -> Counts:
        """Progress of the reports."""

    def report(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        """Report what has changed.

        :param interrupted: whether a newer refresh waits to be reported.
        :raises PlacementError: if Placement does not answer any request.
        :raises OwnershipError: if another part fails.
        """

    def withdraw(self, uuid: str) -> None:
        """Stop reporting a node."""


@dataclasses.dataclass(eq=False)
class PlacementLoop(Worker):
    """Reports each refresh.

    Threading: any, but for :meth:`step`.
    """

    reporter: Reporter
    conditions: Conditions

    def __post_init__(self) -> None:
        super().__post_init__()
        self._seen: refresh_result.RefreshResult | None = None
        self._failures = 0

    @property
    def counts(self) -> Counts:
        """Progress of the reports."""
        return self.reporter.counts

    def refreshed(self, seen: refresh_result.RefreshResult) -> None:
        """Schedule the report of a refresh whose changes are written."""
        self._seen = seen
        self.wake()

    def withdraw(self, uuid: str) -> None:
        """Stop reporting a node whose provider is to be deleted."""
        self.reporter.withdraw(uuid)

    def step(self) -> float | None:
        """Report the last refresh, and wait for the next one."""
        if self.attempt():
            self._failures = 0
            return None
        self._failures += 1
        # No refresh cuts the pause short.
        self._stopping.wait(back_off(self._failures, LONGEST_PAUSE))
        return 0.0

    def attempt(self) -> bool:
        """Report the last refresh once.

        :returns: whether Placement answered.
        """
        seen = self._seen
        if seen is None:
            return True
        try:
            self.reporter.report(seen, self._wanted.is_set)
        except exceptions.FencedError as exc:
            LOG.debug('nothing is reported to Placement: %s', exc)
        except exceptions.PlacementError as exc:
            if not self._stopping.is_set():
                # Without the number of pending nodes: each new text is logged.
                self.conditions.report(
                    'placement',
                    f'Placement is not updated: {exc}. All other work '
                    'continues, and the report is retried',
                )
            return False
        except exceptions.OwnershipError as exc:
            # The next refresh has the same error and logs it.
            LOG.debug('nothing is reported to Placement: %s', exc)
        except Exception as exc:  # noqa: BLE001 - this thread has to survive
            self.conditions.unexpected(
                'placement', 'the report to Placement failed', exc
            )
        else:
            self.conditions.clear('placement', 'Placement is updated again')
            self.conditions.succeeded(Loop.PLACEMENT)
        return True
