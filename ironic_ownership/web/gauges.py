"""Find out what the metrics say, once in a while, for all who ask.

To judge the deployment all its nodes are listed, so it is not done for every
scrape. Whoever comes while that is being done waits for it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.checking import check, problem
from ironic_ownership.engine.deciding import policy_set
from ironic_ownership.engine.inspecting import overview
from ironic_ownership.engine.inspecting.overview import Part
from ironic_ownership.observe import metrics


class Gauges:
    """What the metrics say, kept for an interval.

    :param read: reads the whole deployment, as far as it answers.
    :param interval: seconds.
    :param clock: monotonic.
    """

    def __init__(
        self,
        read: Callable[[], overview.Overview],
        interpret: policy_set.Interpreter,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._interpret = interpret
        self._interval = interval
        self._clock = clock
        self._lock = threading.Lock()
        self._found: Sequence[metrics.Family] = ()
        self._found_at: float | None = None
        self._took = 0.0

    def families(self) -> list[metrics.Family]:
        """Return all metrics, none of them older than the interval."""
        with self._lock:
            began = self._clock()
            if (
                self._found_at is None
                or began >= self._found_at + self._interval
            ):
                self._found = families_of(self._read(), self._interpret)
                self._found_at = self._clock()
                self._took = self._found_at - began
            age = self._clock() - self._found_at
            return [*self._found, *metrics.taken(self._took, age)]


def families_of(
    seen: overview.Overview, interpret: policy_set.Interpreter
) -> list[metrics.Family]:
    """Return the metrics of one moment; without what did not answer."""
    facts = problem.Facts(seen, interpret)
    found = [
        metrics.answers({str(p): p not in seen.unread for p in Part}),
        metrics.problems(check.find(facts)),
    ]
    if not seen.unread:
        # A policy that fails is among the problems.
        with contextlib.suppress(exceptions.PluginFaultError):
            found.append(metrics.nodes(facts.findings))
    if seen.records is not None:
        found.append(metrics.unavailable(seen.records))
    if seen.services is not None:
        alive = seen.view.hosts if seen.view else None
        found.append(metrics.services(seen.services, alive))
        found.append(metrics.disabled(seen.services))
    if seen.view is not None:
        found.append(metrics.members(seen.view))
    if seen.reservations is not None:
        found.append(metrics.reservations(seen.reservations))
    return found
