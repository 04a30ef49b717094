"""Bounded threads for long operations that go on after their answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ironic_ownership.contracts import exceptions

LOG = logging.getLogger(__name__)

Work = Callable[[Callable[[], bool]], None]
"""Receives a function that tells whether the process is about to end."""


class BusyError(exceptions.OwnershipError):
    """Too many long operations run in this process."""

    code = 'busy'
    http_status = 503


class BackgroundWork:
    """Runs long operations in threads of this process.

    When the process ends, it waits for them, and each stops at its next
    check: after a batch. What they store is resumed by a later request.

    :param limit: the number that may run at the same time.
    """

    def __init__(self, limit: int = 4) -> None:
        self._slots = threading.BoundedSemaphore(limit)
        self._limit = limit

    def start(
        self, request_id: str, prepare: Callable[[], None], work: Work
    ) -> None:
        """Prepare in this thread, then work in another one.

        :raises BusyError: if too many run already; nothing was prepared.
        """
        if not self._slots.acquire(blocking=False):
            raise BusyError(
                f'{self._limit} long operations run already',
                hint='Repeat the request when one of them has ended',
            )
        try:
            prepare()
            threading.Thread(
                target=self._run, args=(request_id, work), name=request_id
            ).start()
        except BaseException:
            self._slots.release()
            raise

    def _run(self, request_id: str, work: Work) -> None:
        try:
            work(_process_ends)
        except exceptions.OwnershipError as exc:
            LOG.error('%s: failed in the background: %s', request_id, exc)
        except Exception:  # the edge of the thread: logged once
            LOG.exception('%s: failed in the background', request_id)
        finally:
            self._slots.release()


def _process_ends() -> bool:
    # The interpreter marks its main thread first, then waits for the others.
    return not threading.main_thread().is_alive()
