"""Check of the middleware: Ironic admits no request under an ended right.

A right is a service, an epoch and a node. It has ended for certain if a
snapshot that was complete before the request was sent shows it ended, and no
event since then, until the answer, may have given it back.
"""

from __future__ import annotations

import bisect
import collections
from collections.abc import Iterable, Sequence

from benchmarks.nemesis import clock
from benchmarks.nemesis.answers import Request
from benchmarks.nemesis.observer import Event, Snapshot

_SNAPSHOTS = 5000
"""More than half an hour."""


class Admissions:
    """Compares the answers of Ironic with snapshots of the records.

    :ivar checked: how many admitted requests were checked.
    :ivar ended: how many requests, refused ones included, were sent under a
        right that had ended for certain.
    :ivar unknown: how many admitted ones were sent under a right that had
        ended and may have been given back.
    """

    def __init__(self) -> None:
        self.checked = self.ended = self.unknown = 0
        self._snapshots: collections.deque[tuple[float, Snapshot]] = (
            collections.deque(maxlen=_SNAPSHOTS)
        )

    def take(self, snapshot: Snapshot, now: float | None = None) -> None:
        """Keep a snapshot that is complete now."""
        self._snapshots.append((clock.now() if now is None else now, snapshot))

    def wrong(
        self, requests: Iterable[Request], events: Sequence[Event]
    ) -> list[tuple[Request, str]]:
        """Return the requests that should have been refused, with reasons."""
        snapshots = list(self._snapshots)
        found = []
        for request in requests:
            self.checked += request.is_admitted
            number = bisect.bisect_right(
                snapshots, request.sent, key=lambda one: one[0]
            )
            if not number:
                continue
            done, snapshot = snapshots[number - 1]
            reason = _ended(snapshot, request)
            if reason is None:
                continue
            if not _is_over(snapshot, request) and any(
                snapshot.at <= event.at <= request.answered
                and _may_give_back(event, request)
                for event in events
            ):
                self.unknown += request.is_admitted
                continue
            self.ended += 1
            if request.is_admitted:
                late = request.sent - done
                found.append((request, f'{reason}, {late:.2f} s before'))
        return found


def _ended(snapshot: Snapshot, request: Request) -> str | None:
    """Return why a right had ended; ``None`` if it had not."""
    service = snapshot.services.get(request.host)
    if service is None:
        return 'the service was not on record'
    if service.epoch != request.epoch:
        return f'the epoch was {service.epoch}'
    if service.fenced:
        return 'the epoch was fenced'
    if service.forced_down:
        return 'the service was forced down'
    owner = snapshot.owners.get(request.node)
    return None if owner == request.host else f'the owner was {owner}'


def _is_over(snapshot: Snapshot, request: Request) -> bool:
    """Tell whether a right is over for ever: epochs only rise."""
    service = snapshot.services.get(request.host)
    return service is not None and service.epoch > request.epoch


def _may_give_back(event: Event, request: Request) -> bool:
    if event.node is not None:
        return event.node == request.node
    return request.host in (event.actor, event.source, event.target)
