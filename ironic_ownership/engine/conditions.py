"""Conditions: problems that are logged once when they begin and end.

Those that keep a loop from its work are also its condition, which the service
stores in the records: see ``engine.host.health``.
"""

from __future__ import annotations

import collections
import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping

from oslo_log import log

from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.contracts.conditions import Condition, Loop

LOG = log.getLogger(__name__)

_OUTAGES = (
    exceptions.RecordsUnavailableError,
    exceptions.BackendUnavailableError,
    exceptions.IronicUnavailableError,
    exceptions.PlacementUnavailableError,
    exceptions.NotificationError,
)

UNEXPECTED = 'unexpected_error'
"""Code of an error that is none of this package's."""

HANGS = 'hangs'
"""Code of a loop that stands still."""

MASS_LOSS = 'mass_loss'
"""Code of a refresh that deletes nothing: too many nodes are missing."""

NODES_TAKEN = 'nodes_taken'
"""Condition and code of a service that returned without its nodes."""

LOST_COMMITS = 'records_rewound'
"""Condition and code of records that became older, until it is confirmed."""

CLOCK_SKEW = 'clock_skew'
"""Condition and code of database servers whose clocks differ."""

_LOOPS = {
    **{loop.value: loop for loop in Loop},
    'backend': Loop.HEARTBEAT,
    'members': Loop.HEARTBEAT,
    'register': Loop.HEARTBEAT,
    'membership': Loop.HEARTBEAT,
    MASS_LOSS: Loop.REFRESH,
    'unowned loss': Loop.REFRESH,
    'slow policies': Loop.REFRESH,
    'standing orders': Loop.ORDERS,
    'standing orders refused': Loop.ORDERS,
    NODES_TAKEN: Loop.ORDERS,
    LOST_COMMITS: Loop.COMMITS,
    CLOCK_SKEW: Loop.CLOCKS,
}
"""The loop that a condition keeps from its work; others concern nodes."""


def ended(loop: str) -> str:
    """Return the name of the condition of a loop whose thread has ended."""
    return f'{loop} ended'


def hangs(loop: str) -> str:
    """Return the name of the condition of a loop that is not finished."""
    return f'{loop} hangs'


@dataclasses.dataclass
class _Standing:
    message: str
    code: str
    since: float
    cause: str | None


class Conditions:
    """The current conditions of one process.

    Threading: any thread.

    :ivar changed: called after a loop began to fail, or stopped to; must not
        block.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self.clock = clock
        self._standing: dict[str, _Standing] = {}
        # Without what keeps them from their work, which is added when read.
        self._loops = {loop: Condition(loop.value) for loop in Loop}
        self._errors: collections.Counter[tuple[str, str]] = (
            collections.Counter()
        )
        self.changed: Callable[[], None] = lambda: None

    def report(
        self,
        condition: str,
        message: str,
        error: BaseException | None = None,
        *,
        code: str | None = None,
        level: int = logging.WARNING,
    ) -> None:
        """Log a warning, unless it is already logged with this message.

        :param error: of the message. While any condition has the same cause,
            a server that does not answer, it is no further warning.
        :param code: of a condition without an error of this package.
        :param level: of the line, instead of a warning.
        """
        code = code or getattr(error, 'code', None) or UNEXPECTED
        cause = _outage(error)
        loop = _LOOPS.get(condition) or _loop_of(condition)
        with self._lock:
            before = self._standing.get(condition)
            # A monitor reports again what still hangs: one error.
            if loop is not None and (before is None or condition in _LOOPS):
                self._errors[str(loop), code] += 1
            if before is not None and before.message == message:
                return
            if cause is not None and any(
                one.cause == cause for one in self._standing.values()
            ):
                level = logging.INFO
            self._standing.pop(condition, None)  # the newest is the last
            self._standing[condition] = _Standing(
                message, code, before.since if before else self.clock(), cause
            )
        traceback = error if level == logging.ERROR else None
        LOG.log(level, '%s', message, exc_info=traceback)
        self._notify(condition)

    def unexpected(
        self,
        condition: str,
        failed: str,
        error: BaseException,
        *,
        code: str = UNEXPECTED,
    ) -> None:
        """Report a fault of a program; log it with its traceback.

        :param failed: what failed, in words.
        """
        text = texts.described(error)
        self.report(
            condition,
            f'{failed} with an unexpected error: {text}',
            error,
            code=code,
            level=logging.ERROR,
        )

    def clear(self, condition: str, message: str) -> None:
        """Log that a reported condition is over, if it was reported."""
        with self._lock:
            if self._standing.pop(condition, None) is None:
                return
        LOG.info('%s', message)
        self._notify(condition)

    def succeeded(
        self, loop: Loop, took: float | None = None, did: str = ''
    ) -> None:
        """Note that a loop did its work just now.

        :param took: seconds, where they are of interest.
        :param did: what it did, in words, likewise.
        """
        with self._lock:
            before = self._loops[loop]
            self._loops[loop] = dataclasses.replace(
                before,
                succeeded_at=self.clock(),
                took=before.took if took is None else took,
                did=did,
            )
        self.clear(ended(loop), f'the {loop} loop works again')
        self.clear(hangs(loop), f'the {loop} loop continues')

    def note(self, loop: Loop, text: str) -> None:
        """Note what waits although a loop works; an empty text for nothing."""
        with self._lock:
            self._loops[loop] = dataclasses.replace(
                self._loops[loop], note=text
            )

    @property
    def standing(self) -> dict[str, str]:
        """The current conditions, with their messages."""
        with self._lock:
            return {name: one.message for name, one in self._standing.items()}

    @property
    def errors(self) -> Mapping[tuple[str, str], int]:
        """Number of failures since the start, by loop and code."""
        with self._lock:
            return dict(self._errors)

    def of_loops(
        self, loops: Collection[Loop], dead: Collection[str] = ()
    ) -> tuple[Condition, ...]:
        """Return the condition of each loop, on the clock of this process.

        :param loops: those that run, whether they fail or not.
        :param dead: loops whose thread has ended.
        """
        with self._lock:
            standing, known = dict(self._standing), dict(self._loops)
        found = []
        for loop, before in known.items():
            of_loop = [
                one
                for name, one in standing.items()
                if loop in (_LOOPS.get(name), _loop_of(name))
            ]
            if loop not in loops and not of_loop:
                continue
            # What else is wrong with one that stands still is the cause.
            of_loop.sort(key=lambda one: (one.code == HANGS, one.since))
            found.append(
                dataclasses.replace(
                    before,
                    code=of_loop[0].code if of_loop else None,
                    error='; '.join(one.message for one in of_loop),
                    since=min((one.since for one in of_loop), default=None),
                    ended=loop.value in dead,
                )
            )
        return tuple(found)

    def _notify(self, condition: str) -> None:
        if condition in _LOOPS or _loop_of(condition) is not None:
            self.changed()


def _loop_of(condition: str) -> str | None:
    loop, _, what = condition.rpartition(' ')
    return loop if what in ('ended', 'hangs') else None


def _outage(error: BaseException | None) -> str | None:
    """Return the code of the outage behind an error, if it is one."""
    code = None
    while error is not None:
        if isinstance(error, _OUTAGES):
            code = error.code
        error = error.__cause__
    return code
