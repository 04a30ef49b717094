"""Values of the HTTP service in words, and things in an order, for people."""

from __future__ import annotations

import datetime
import itertools
import re
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

_HYPHENS = re.compile(r'((?<![^\s(])(?:--?|ironic-)\w[\w-]*)')
"""Options and programs."""

_UNITS = (('d', 86400), ('h', 3600), ('min', 60), ('s', 1))


def following(link: str | None) -> str:
    """Return the marker in the link to the next page."""
    found = parse_qs(urlsplit(link or '').query).get('marker', [''])
    return found[0]


def time_of(text: str | None) -> str:
    """Return a time of the service for people: UTC, without its zone."""
    return (text or '').replace('T', ' ').partition('+')[0]


def age(text: str | None, now: Callable[[], float] = time.time) -> str:
    """Return how long ago a time of the service was, by the clock here.

    :param now: in seconds since the epoch.
    """
    if text is None:
        return ''
    at = datetime.datetime.fromisoformat(text).timestamp()
    # The clock of the store may be ahead.
    return f'{duration(max(now() - at, 0.0))} ago'


def natural(items: Iterable[Any], key: str) -> list[Any]:
    """Return things by name, with numbers in the order of their values."""
    return sorted(
        items,
        key=lambda one: [
            (not part.isdecimal(), int(part) if part.isdecimal() else 0, part)
            for part in re.split(r'(\d+)', one[key])
        ],
    )


def words(cell: Any) -> str:
    """Return any value in words."""
    if cell is None or cell == '':
        return '-'
    if isinstance(cell, bool):
        return 'yes' if cell else 'no'
    if isinstance(cell, dict):
        return ', '.join(f'{k}={words(v)}' for k, v in cell.items()) or '-'
    if isinstance(cell, Iterable) and not isinstance(cell, str):
        return ', '.join(map(words, cell)) or '-'
    return str(cell)


def counted(number: int, noun: str) -> str:
    """Return a number of things for people."""
    return f'{number:,} {noun}{"" if number == 1 else "s"}'


def day(seconds: float) -> str:
    """Return a time for people: UTC, in seconds since the epoch before."""
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f'{at:%Y-%m-%d %H:%M:%S}'


def duration(seconds: float) -> str:
    """Return a length of time in its two largest units."""
    for (unit, length), (less, part) in itertools.pairwise(_UNITS):
        if seconds >= length:
            number, rest = divmod(int(seconds), length)
            more = f' {rest // part} {less}' if rest >= part else ''
            return f'{number} {unit}{more}'
    return f'{int(seconds)} s'


FILTERS = {
    'age': age,
    'counted': counted,
    'day': day,
    'duration': duration,
    'following': following,
    'hyphens': _HYPHENS.split,
    'natural': natural,
    'time': time_of,
    'words': words,
}
"""For the templates, by name."""
