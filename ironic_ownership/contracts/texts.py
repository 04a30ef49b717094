"""Texts: codes with their phrases, texts of others, lists, counts, times."""

from __future__ import annotations

import datetime
import enum
import functools
import re
from collections.abc import Sequence
from typing import Self


class DescribedEnum(enum.StrEnum):
    """Stable codes, each with one phrase for operators.

    :ivar help: the phrase, for tables and log lines.
    """

    help: str

    def __new__(cls, code: str, text: str) -> Self:
        """Make a member of its code and its phrase."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.help = text
        return member


_UUID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.I | re.A)
_CREDENTIALS = re.compile(r'(\w://)\S+@')
_DURATION = re.compile(r'(\d{1,9})([smhdw])', re.ASCII)
_SECONDS = {'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}


_DEEPEST = 50
"""Levels of JSON that is copied and quoted, which needs a stack for them."""


def is_deep(value: object, levels: int = _DEEPEST) -> bool:
    """Tell whether a JSON value has more levels than any that is meant."""
    if isinstance(value, dict):
        value = [*value.values()]
    if not isinstance(value, list):
        return False
    return not levels or any(is_deep(one, levels - 1) for one in value)


def printable(text: str) -> str:
    r"""Return a text with ``\x1b`` and the like for what is not printable.

    Line feeds are not, nor is what sends commands to a terminal or changes
    the direction of writing.
    """
    if text.isprintable():
        return text
    return ''.join(
        one if one.isprintable() else one.encode('unicode_escape').decode()
        for one in text
    )


def without_credentials(text: str) -> str:
    """Return a text whose URLs have no user and no password.

    A password may have any character but a blank: URLs are masked up to their
    last ``@``.
    """
    # A page of a list has none: the expression would try each of its words.
    if '://' not in text:
        return text
    return _CREDENTIALS.sub(r'\1***@', text)


def plain(text: str, longest: int = 1000) -> str:
    """Return the begin of a text, in characters that can be encoded."""
    if len(text) > longest:
        text = f'{str.__getitem__(text, slice(longest))}...'
    return text.encode(errors='replace').decode()


def text_of(error: BaseException) -> str:
    """Return the text of any error, in one line.

    The text of an error of a plugin is a call of that plugin.
    """
    try:
        return ' '.join(plain(str(error)).split())
    except BaseException as exc:  # noqa: BLE001 - third-party code
        return f'its text cannot be had: {type(exc).__name__}'


def described(error: BaseException) -> str:
    """Return type and text of any error."""
    return f'{type(error).__name__}: {text_of(error)}'


def phrase(parts: Sequence[str], conjunction: str) -> str:
    """Return parts in one phrase: "a, b or c"."""
    *others, last = parts
    return f'{", ".join(others)} {conjunction} {last}' if others else last


def listed(names: Sequence[str], few: int = 5) -> str:
    """Return names in one phrase: the first few, and the number of others."""
    more = len(names) - few
    shown = ', '.join(names[:few])
    return f'{shown} and {more} more' if more > 0 else shown


def group_named(group: str) -> str:
    """Return a conductor group in words; the default one has no name."""
    named = f'conductor group {group!r}'
    return named if group else 'the default conductor group'


def counted(number: int, noun: str) -> str:
    """Return a number of things: "1 node", "2 nodes"."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'


def canonical_uuid(text: str) -> str | None:
    """Return a uuid in Ironic's form; ``None`` if the text is none."""
    import uuid  # most commands need none of it

    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def is_uuid(text: str) -> bool:
    """Tell whether a text is a uuid in Ironic's form, in any case."""
    return _UUID.fullmatch(text) is not None


@functools.lru_cache(maxsize=64)
def moment(seconds: float | None) -> str | None:
    """Return a time as ISO 8601 in UTC.

    :param seconds: since the epoch; ``None`` stays ``None``.
    """
    if seconds is None:
        return None
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return at.isoformat(timespec='seconds')


def parse_moment(text: str) -> datetime.datetime:
    """Return a date or time in ISO 8601, in UTC unless it has an offset.

    :raises ValueError: if the text is neither.
    """
    at = datetime.datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=datetime.UTC)


def parse_duration(text: str) -> int | None:
    """Return the seconds of a duration such as 90m; ``None`` for others."""
    match = _DURATION.fullmatch(text)
    return int(match[1]) * _SECONDS[match[2]] if match else None
