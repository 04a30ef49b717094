"""The thread that talks to Placement: when it does, and what if it can't.

Claims never wait for it, however slow Placement is. That it does not answer
is said once and waited out, ever longer, and needs no refresh to be over.
What is said to Placement is not known here.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Protocol

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result

LOG = log.getLogger(__name__)

LONGEST_PAUSE = 60.0
"""Seconds after which Placement is asked again, when it did not answer."""


@dataclasses.dataclass
class Counts:
    """How the reports stand, for whoever measures them; read by any thread.

    :ivar written: reports that Placement accepted, since the start.
    :ivar refused: providers of which it last refused something.
    :ivar pending: providers of which it does not know the latest.
    """

    written: int = 0
    refused: int = 0
    pending: int = 0


class Reporter(Protocol):
    """What is told of a refresh."""

    counts: Counts

    def tell(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        """Tell Placement what it does not know yet.

        :param interrupted: whether something newer is there to be told.
        :raises PlacementError: if Placement does not answer, or to nobody.
        :raises OwnershipError: if something else is in the way.
        """

    def withdraw(self, uuid: str) -> None:
        """Tell nothing of a node any more, from this moment on."""


class PlacementLoop:
    """Has Placement told of each refresh.

    Threading: :meth:`run` in a thread of its own, the rest from any.
    """

    def __init__(self, teller: Reporter, conditions: Conditions) -> None:
        self._teller = teller
        self._conditions = conditions
        self._seen: refresh_result.RefreshResult | None = None
        self._wanted = threading.Event()
        self._stopping = threading.Event()

    @property
    def counts(self) -> Counts:
        """How the reports stand."""
        return self._teller.counts

    def refreshed(self, seen: refresh_result.RefreshResult) -> None:
        """Have it told what a refresh saw, after what that wrote."""
        self._seen = seen
        self._wanted.set()

    def withdraw(self, uuid: str) -> None:
        """Tell nothing more of a node, whose provider is to be deleted."""
        self._teller.withdraw(uuid)

    def stop(self) -> None:
        """Make :meth:`run` return soon."""
        self._stopping.set()
        self._wanted.set()

    def run(self) -> None:
        """Tell Placement after each refresh, until :meth:`stop` is called."""
        failures = 0
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopping.is_set():
                return
            if self.attempt():
                failures = 0
                continue
            failures += 1
            pause = min(LONGEST_PAUSE, 2.0 ** min(failures - 1, 9))
            self._stopping.wait(pause)
            self._wanted.set()

    def attempt(self) -> bool:
        """Tell Placement once what the last refresh saw.

        :returns: whether it answered.
        """
        seen = self._seen
        if seen is None:
            return True
        try:
            self._teller.tell(seen, self._wanted.is_set)
        except exceptions.FencedError as exc:
            LOG.debug('Placement is told nothing: %s', exc)
        except exceptions.PlacementError as exc:
            if not self._stopping.is_set():
                self._conditions.report('placement', self._trouble(exc))
            return False
        except exceptions.OwnershipError as exc:
            # The next refresh finds the same, says so, and comes here.
            LOG.debug('Placement is told nothing: %s', exc)
        except Exception:  # the next refresh must find this thread alive
            LOG.exception('a report failed in a way nobody foresaw')
        else:
            self._conditions.clear(
                'placement', 'Placement is told of all again'
            )
        return True

    def _trouble(self, exc: exceptions.PlacementError) -> str:
        # Without the number of those that wait: that would be news each time.
        return (
            f'Placement is not told of changes: {exc}. All else goes on, and '
            'it is tried again'
        )
