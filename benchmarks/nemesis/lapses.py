"""Lapses: rights that ended by a fault that the run made itself.

A process that was frozen, or cut off from the store of the members, for longer
than the time to live has no right to write until it registers again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.nemesis.journal import LOSS, Entry, Journal
from benchmarks.nemesis.observer import Event

_CUT_OFF = frozenset(('cut', 'silence'))
_SERVERS = frozenset(
    ('server-freeze', 'server-stop', 'server-kill', 'server-isolated', LOSS)
)
_COMMIT = 1.0
"""Seconds between the time of an event and its commit, at most."""


def unlawful(
    events: Sequence[Event],
    journal: Journal,
    ttl: float,
    *,
    earlier: Sequence[Event] = (),
) -> Iterator[tuple[Event, str]]:
    """Yield events that a process wrote after its right had lapsed.

    :param events: of one round, in their order.
    :param ttl: seconds after which a member expires.
    :param earlier: events of the round before, whose last faults count.
    """
    if not events:
        return
    entries = journal.overlapping(events[0].at - 2 * ttl, events[-1].at)
    for entry in entries:
        name = _process(entry)
        if name is None or entry.end is None:
            continue
        lapsed_at = entry.begin + ttl + _COMMIT
        if entry.end < lapsed_at:
            continue
        # A store that was down itself may still know the member.
        until = (
            entry.end
            if _store_failed(journal, entry)
            else _next_registration([*earlier, *events], name, entry.end)
        )
        for event in _written_by(events, name):
            if (
                lapsed_at < event.at < until
                and event.kind != 'service_registered'
            ):
                yield event, f'{name} writes after a long {entry.kind}'


def _process(entry: Entry) -> str | None:
    """Return the process whose membership a fault ends."""
    name, _, path = entry.target.partition('/')
    if entry.kind == 'freeze':
        return name
    if entry.kind in _CUT_OFF and path == 'members':
        return name
    return None


def _store_failed(journal: Journal, entry: Entry) -> bool:
    end = entry.begin if entry.end is None else entry.end
    return any(
        one.kind in _SERVERS for one in journal.overlapping(entry.begin, end)
    )


def _next_registration(
    events: Iterable[Event], name: str, after: float
) -> float:
    for event in _written_by(events, name):
        if event.kind == 'service_registered' and event.at >= after:
            return event.at
    return float('inf')


def _written_by(events: Iterable[Event], name: str) -> Iterator[Event]:
    for event in events:
        if str(event.writer).rpartition('_')[0] == name:
            yield event
