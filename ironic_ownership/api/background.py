"""Background threads: long operations after their answer, and the metrics.

Metrics need a list of all nodes, so they are not computed for every scrape,
nor while a scraper waits if that takes longer than its time-out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from oslo_log import log

from ironic_ownership import metrics
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import Call
from ironic_ownership.engine.checks import overview, runner
from ironic_ownership.engine.queries.deployment import Deployment

PATIENCE = 5.0
"""Seconds for which one scraper waits for fresh metrics. The default time-out
of Prometheus is ten. Others do not wait: each would hold a thread."""


@dataclasses.dataclass(frozen=True)
class _Snapshot:
    """The metrics of one moment.

    :param at: of the clock, in seconds.
    :param took: seconds.
    :param checked: the result of the check that the metrics come from.
    """

    families: Sequence[metrics.Family]
    checked: overview.Checked
    at: float
    took: float


class Gauges:
    """The metrics, cached for an interval.

    :param read: reads the whole deployment, as far as it answers.
    :param interval: seconds.
    :param patience: seconds to wait for a refresh.
    :param clock: monotonic.
    """

    def __init__(
        self,
        read: Callable[[], Deployment],
        interval: float,
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._interval = interval
        self._patience = patience
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting = threading.Lock()
        self._cached: _Snapshot | None = None
        self._refresh: Call[_Snapshot] | None = None

    def families(self) -> list[metrics.Family]:
        """Return all metrics, and their age.

        They are not older than the interval, unless a refresh takes longer
        than the patience, or another thread waits for it.

        :raises BusyError: if the first refresh takes that long.
        """
        with self._lock:
            self._refresh_if_due()
            refresh = self._refresh
        if refresh is not None and self._waiting.acquire(blocking=False):
            try:
                refresh.ended(self._patience)
            finally:
                self._waiting.release()
        with self._lock:
            self._collect()
            found = self._cached
        if found is None:
            raise BusyError(
                'the metrics are being read for the first time',
                hint='Try again in a minute; /v1/check shows what does not '
                'answer',
            )
        age = self._clock() - found.at
        return [*found.families, *metrics.taken(found.took, age)]

    def last_check(self) -> tuple[overview.Checked, float] | None:
        """Return the last check and its age in seconds, and wait for none.

        Starts a refresh if it is due.
        """
        with self._lock:
            self._refresh_if_due()
            found = self._cached
        if found is None:
            return None
        return found.checked, self._clock() - found.at

    def _refresh_if_due(self) -> None:
        # The error of a refresh for which no one waited is only logged.
        with contextlib.suppress(Exception):
            self._collect()
        last = self._cached
        is_due = last is None or self._clock() >= last.at + self._interval
        if self._refresh is None and is_due:
            self._refresh = Call(self._snapshot, 'metrics')

    def _collect(self) -> None:
        """Take the result of a refresh that has ended, or raise its error."""
        ended = self._refresh
        if ended is not None and ended.ended(0):
            self._refresh = None
            self._cached = ended.result()

    def _snapshot(self) -> _Snapshot:
        try:
            began = self._clock()
            seen = self._read()
            problems = runner.check(seen)
            families = [*metrics.of_deployment(seen, problems)]
            checked = overview.checked(seen, problems)
            now = self._clock()
        except Exception:  # raised again where it is waited for
            LOG.exception('the metrics could not be refreshed')
            raise
        return _Snapshot(families, checked, now, now - began)


LOG = log.getLogger(__name__)

_REMEMBERED = 1000
"""Things of which the last task is remembered."""

Work = Callable[[Callable[[], bool]], None]
"""Receives a function that tells whether the process is about to end."""


class BusyError(exceptions.OwnershipError):
    """Too many long operations run in this process."""

    code = 'busy'
    http_status = 503


@dataclasses.dataclass
class Task:
    """The work of a thread of this process on one thing.

    :ivar ended_at: by the monotonic clock; ``None`` while it runs.
    """

    warnings: Sequence[str] = ()
    error: exceptions.OwnershipError | None = None
    ended_at: float | None = None

    def end(self, error: exceptions.OwnershipError | None = None) -> None:
        """End it; an error that may quote the configuration is left out."""
        if error is not None and error.code not in exceptions.SECRET:
            self.error = error
        self.ended_at = time.monotonic()

    def body(self) -> dict[str, Any]:
        """Return it in JSON."""
        error, at = self.error, self.ended_at
        return {
            'age': None if at is None else time.monotonic() - at,
            'warnings': list(self.warnings),
            'error': error
            and {
                'code': error.code,
                'message': str(error.args[0]),
                'hint': error.hint,
            },
        }


class BackgroundWork:
    """Runs long operations in threads of this process.

    When the process ends, it waits for them, and each stops at its next
    check: after a batch. What they store is resumed by a later request.

    :param limit: the number that may run at the same time.
    :ivar tasks: the last one on each thing, by the id of the thing.
    """

    def __init__(self, limit: int = 4) -> None:
        self._slots = threading.BoundedSemaphore(limit)
        self._limit = limit
        self.tasks: dict[str, Task] = {}

    def start(
        self,
        request_id: str,
        prepare: Callable[[], None],
        work: Work,
        ids: Sequence[str] = (),
    ) -> None:
        """Prepare in this thread, then work in another one.

        :param ids: of the things to work on.
        :raises BusyError: if too many run already; nothing was prepared.
        """
        if not self._slots.acquire(blocking=False):
            raise BusyError(
                f'{self._limit} long operations run already',
                hint='Repeat the request when one of them has ended',
            )
        try:
            prepare()
            tasks = {one: Task() for one in ids}
            self.tasks.update(tasks)
            for oldest in [*self.tasks][:-_REMEMBERED]:
                self.tasks.pop(oldest, None)
            threading.Thread(
                target=self._run,
                args=(request_id, work, [*tasks.values()]),
                name=request_id,
            ).start()
        except BaseException:
            self._slots.release()
            raise

    def _run(self, request_id: str, work: Work, tasks: Sequence[Task]) -> None:
        failure = None
        try:
            work(_process_ends)
        except exceptions.OwnershipError as exc:
            failure = exc
            LOG.error('%s: failed in the background: %s', request_id, exc)
        except Exception:  # the edge of the thread: logged once
            LOG.exception('%s: failed in the background', request_id)
        finally:
            for task in tasks:
                task.end(failure)
            self._slots.release()


def _process_ends() -> bool:
    # The interpreter marks its main thread first, then waits for the others.
    return not threading.main_thread().is_alive()
