"""Validation of the single values of a request; collects all faults.

A request comes from another program, whose author needs every fault in one
response, each with its place and the expected value.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection
from typing import TypeVar

_Value = TypeVar('_Value')

MAX_AMOUNT = 2**31 - 1
"""No node has more of anything, and no database column holds more."""

MAX_TEXT = 255
"""Longest name or value, in characters, as in Nova's flavors."""

TRAIT = re.compile(r'[A-Z0-9_]{1,255}')
_UUID = re.compile(r'[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}')


class Faults:
    """Faults of a request, in the order in which they were found."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, where: str, what: str) -> None:
        """Add a fault.

        :param where: key of the request, with a path if it is nested.
        """
        self.found.append(f'{where}: {what}')


def read_uuid(value: object, where: str, faults: Faults) -> str:
    """Return a uuid in the one spelling that is compared everywhere."""
    if isinstance(value, str) and _UUID.fullmatch(value):
        return str(uuid.UUID(value))
    faults.add(where, f'{shown(value)} is not a uuid')
    return ''


def read_text(value: object, where: str, faults: Faults) -> str:
    """Return a text that is not empty."""
    if isinstance(value, str) and 0 < len(value.strip()) <= MAX_TEXT:
        return value.strip()
    faults.add(
        where, f'{shown(value)} is not a text of 1 to {MAX_TEXT} characters'
    )
    return ''


def read_amount(value: object, where: str, faults: Faults) -> int:
    """Return a whole number; the empty text, Nova's "no swap", is 0."""
    if value == '':
        return 0
    if isinstance(value, str) and re.fullmatch('[0-9]{1,10}', value):
        value = int(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, int) and whole and 0 <= value <= MAX_AMOUNT:
        return value
    faults.add(
        where,
        f'{shown(value)} is not a whole number from 0 to {MAX_AMOUNT}',
    )
    return 0


def read_number(value: object, where: str, faults: Faults) -> None:
    """Check a number of a flavor that has no meaning on bare metal."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        faults.add(where, f'{shown(value)} is not a number')


def read_traits(value: object, where: str, faults: Faults) -> tuple[str, ...]:
    """Return the names of traits, each once and in order of the alphabet."""
    if not isinstance(value, list | tuple):
        faults.add(where, f'{shown(value)} is not a list of traits')
        return ()
    for number, name in enumerate(value):
        if not isinstance(name, str) or not TRAIT.fullmatch(name):
            faults.add(
                f'{where}[{number}]',
                f'{shown(name)} is not a trait: capital letters, digits and '
                'underscores, such as CUSTOM_GPU',
            )
    return tuple(sorted({n for n in value if isinstance(n, str)}))


def read_texts(value: object, where: str, faults: Faults) -> dict[str, str]:
    """Return texts by name; numbers and booleans are converted."""
    if not isinstance(value, dict):
        faults.add(where, f'{shown(value)} is not an object')
        return {}
    texts = {}
    for name, given in value.items():
        item = str(given) if isinstance(given, int | float) else given
        if not isinstance(name, str) or not 0 < len(name) <= MAX_TEXT:
            faults.add(where, f'{shown(name)} is not a name')
        elif not isinstance(item, str) or len(item) > MAX_TEXT:
            faults.add(
                f'{where}.{name}',
                f'{shown(item)} is not a text of at most {MAX_TEXT} '
                'characters',
            )
        else:
            texts[name] = item
    return texts


def read_known(
    value: object,
    where: str,
    faults: Faults,
    known: Collection[str],
) -> dict[str, object]:
    """Return an object without its ``null`` values; refuse unknown keys."""
    if not isinstance(value, dict):
        faults.add(where or 'request', f'{shown(value)} is not an object')
        return {}
    for name in value:
        if name not in known:
            faults.add(
                f'{where}.{name}' if where else str(name),
                f'no such key; there are {", ".join(known)}',
            )
    return {n: v for n, v in value.items() if n in known and v is not None}


def read_if_there(
    values: dict[str, object],
    name: str,
    read: Callable[[object, str, Faults], _Value],
    faults: Faults,
) -> _Value | None:
    """Return one value of an object; ``None`` if it is missing."""
    return read(values[name], name, faults) if name in values else None


def shown(value: object) -> str:
    """Return a short representation of a value, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else f'{text[:57]}...'
