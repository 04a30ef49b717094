"""Values in the answers of services that are not as expected."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

ODD = (
    *(ValueError, TypeError, LookupError, AttributeError),
    *(RecursionError, OverflowError),
)
"""Errors of reading an answer that has other values than expected."""


@contextlib.contextmanager
def odd_values(kind: Callable[[str], Exception], what: str) -> Iterator[None]:
    """Raise a kind of error where an answer has other values than expected."""
    try:
        yield
    except ODD as exc:
        raise kind(what) from exc


def number(found: object) -> int:
    """Return a number of things in an answer.

    :raises ValueError: if it is none.
    """
    if type(found) is not int or found < 0:
        raise ValueError(f'{found!r} is not a number of things')
    return found
