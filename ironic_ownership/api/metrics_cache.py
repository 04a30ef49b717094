"""Find out what the metrics say, once in a while, for all who ask.

To judge the deployment all its nodes are listed, so it is not done for every
scrape; nor while a scraper waits, if that takes longer than a scraper does.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from concurrent import futures

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.checks import problem, runner
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.queries import deployment_snapshot
from ironic_ownership.engine.queries.deployment_snapshot import Part
from ironic_ownership.observe import metrics

LOG = log.getLogger(__name__)

PATIENCE = 5.0
"""Seconds for which a scraper waits for news: Prometheus gives up after ten
where nobody changed it."""


@dataclasses.dataclass(frozen=True)
class _Found:
    """What was found out.

    :param at: when, on the clock.
    :param took: seconds.
    """

    families: Sequence[metrics.Family]
    at: float
    took: float


class Gauges:
    """What the metrics say, kept for an interval.

    :param read: reads the whole deployment, as far as it answers.
    :param interval: seconds.
    :param patience: seconds to wait for what is new where there is
        something old.
    :param clock: monotonic.
    """

    def __init__(
        self,
        read: Callable[[], deployment_snapshot.DeploymentSnapshot],
        interpret: policy_set.Interpreter,
        interval: float,
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._interpret = interpret
        self._interval = interval
        self._patience = patience
        self._clock = clock
        self._lock = threading.Lock()
        self._found: _Found | None = None
        self._look: futures.Future[_Found] | None = None

    def families(self) -> list[metrics.Family]:
        """Return all metrics, and how old they are.

        None is older than the interval, unless finding them out anew takes
        longer than the patience.
        """
        with self._lock:
            found = self._found
            if self._look is None and self._is_due():
                self._look = self._begin()
            look = self._look
        if look is not None:
            futures.wait([look], self._patience if found else None)
            if look.done():
                found = look.result()
        assert found is not None
        age = self._clock() - found.at
        return [*found.families, *metrics.taken(found.took, age)]

    def _is_due(self) -> bool:
        return (
            self._found is None
            or self._clock() >= self._found.at + self._interval
        )

    def _begin(self) -> futures.Future[_Found]:
        look: futures.Future[_Found] = futures.Future()
        threading.Thread(
            target=self._find, args=(look,), name='metrics', daemon=True
        ).start()
        return look

    def _find(self, look: futures.Future[_Found]) -> None:
        try:
            began = self._clock()
            families = families_of(self._read(), self._interpret)
            now = self._clock()
            found = _Found(families, now, now - began)
        # Raised by those who wait, and tried again for the next.
        except Exception as exc:
            LOG.exception('the metrics could not be found out')
            with self._lock:
                self._look = None
            look.set_exception(exc)
        else:
            with self._lock:
                self._found, self._look = found, None
            look.set_result(found)


def families_of(
    seen: deployment_snapshot.DeploymentSnapshot,
    interpret: policy_set.Interpreter,
) -> list[metrics.Family]:
    """Return the metrics of one moment; without what did not answer."""
    facts = problem.Facts(seen, interpret)
    found = [
        metrics.answers({str(p): p not in seen.unread for p in Part}),
        metrics.problems(runner.find(facts)),
    ]
    if not seen.unread:
        # A policy that fails is among the problems.
        with contextlib.suppress(exceptions.PluginFaultError):
            found.append(metrics.nodes(facts.statuses))
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
