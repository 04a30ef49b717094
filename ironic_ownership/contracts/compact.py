"""Compact mapping of many values, of which few are in use at a time.

A value is kept as a row of JSON, and is built again whenever it is read: a
node takes 70 bytes instead of 400. The rows are spread over short texts by a
checksum of their keys, so that one is found without an index. A mapping never
changes; one that follows another shares all texts that are the same, which
makes it cheap to make, and to compare.
"""

from __future__ import annotations

import abc
import json
import zlib
from collections.abc import (
    ItemsView,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    ValuesView,
)
from typing import Any, Generic, TypeVar

T = TypeVar('T')

_LONGEST = 48
"""Rows of one text, on average, above which there are twice as many texts."""

_encode = json.JSONEncoder(separators=(',', ':')).encode
_decode = json.JSONDecoder().raw_decode

# JSON has no line end within a row, so this is where one begins.
_SEPARATOR = ',\n'


class Form(abc.ABC, Generic[T]):
    """The conversion of values to rows, and back."""

    @abc.abstractmethod
    def row(self, value: T) -> Sequence[Any]:
        """Return a value as JSON: its key, which is a text, and more."""

    @abc.abstractmethod
    def value(self, row: Sequence[Any]) -> T:
        """Build an equal value from a row."""


class CompactMap(Mapping[str, T]):
    """An immutable mapping, in an order of its own.

    Threading: any thread.
    """

    __slots__ = ('_count', '_form', '_texts')

    def __init__(
        self, form: Form[T], texts: Sequence[str] = ('',), count: int = 0
    ) -> None:
        self._form = form
        self._texts = texts
        self._count = count

    @classmethod
    def of(cls, form: Form[T], values: Iterable[T]) -> CompactMap[T]:
        """Return the mapping of some values; the last one of a key counts."""
        builder = Builder(form)
        for value in values:
            builder.put(value)
        return builder.built()

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and _find(self._text(key), key) >= 0

    def __getitem__(self, key: str) -> T:
        text = self._text(key)
        at = _find(text, key)
        if at < 0:
            raise KeyError(key)
        return self._form.value(_decode(text, at)[0])

    def __iter__(self) -> Iterator[str]:
        return (row[0] for row in self._rows())

    def values(self) -> ValuesView[T]:
        """Return a view of the values, each of them built when it is read."""
        return _Values(self)

    def items(self) -> ItemsView[str, T]:
        """Return a view of keys and values."""
        return _Items(self)

    def changed(
        self, put: Iterable[T] = (), drop: Iterable[str] = ()
    ) -> CompactMap[T]:
        """Return a mapping with other values, which shares the rest.

        :param put: values that are added, or replace those of their keys.
        :param drop: keys that are left out, if they are there.
        """
        builder = Builder(self._form, list(self._texts), self._count)
        for key in drop:
            builder.drop(key)
        for value in put:
            builder.put(value)
        return builder.built()

    def follows(self, other: CompactMap[T]) -> bool:
        """Tell whether :meth:`differing` costs next to nothing."""
        return self._form is other._form and len(self._texts) == len(
            other._texts
        )

    def differing(self, other: CompactMap[T]) -> set[str]:
        """Return the keys whose values differ, or that only one of them has.

        Costs next to nothing for two of which one follows the other. Values
        may count as different that are equal.
        """
        if self is other:
            return set()
        if not self.follows(other):
            return {
                key for key, value in self.items() if other.get(key) != value
            } | {key for key in other if key not in self}
        found: set[str] = set()
        for one, another in zip(self._texts, other._texts, strict=True):
            if one is not another and one != another:
                rows = set(_split(one)) ^ set(_split(another))
                found.update(_key(row) for row in rows)
        return found

    def _text(self, key: str) -> str:
        return self._texts[_place(key, len(self._texts))]

    def _rows(self) -> Iterator[Sequence[Any]]:
        for text in self._texts:
            if text:
                yield from json.loads(f'[{text[len(_SEPARATOR) :]}]')

    def _each(self) -> Iterator[tuple[str, T]]:
        value = self._form.value
        return ((row[0], value(row)) for row in self._rows())


class _Values(ValuesView[T]):
    _mapping: CompactMap[T]

    def __iter__(self) -> Iterator[T]:
        return (value for _, value in self._mapping._each())


class _Items(ItemsView[str, T]):
    _mapping: CompactMap[T]

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return self._mapping._each()


class Builder(Generic[T]):
    """Collects the values of a :class:`CompactMap`, one after the other.

    Threading: one thread at a time.
    """

    def __init__(
        self, form: Form[T], texts: list[str] | None = None, count: int = 0
    ) -> None:
        self._form = form
        self._texts = texts or ['']
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: str) -> bool:
        return _find(self._texts[_place(key, len(self._texts))], key) >= 0

    def put(self, value: T) -> None:
        """Add a value, instead of another one with the same key."""
        row = self._form.row(value)
        self.drop(row[0])
        if self._count >= _LONGEST * len(self._texts):
            self._spread()
        place = _place(row[0], len(self._texts))
        self._texts[place] += f'{_SEPARATOR}{_encode(row)}'
        self._count += 1

    def drop(self, key: str) -> None:
        """Leave a key out."""
        place = _place(key, len(self._texts))
        text = self._texts[place]
        at = _find(text, key)
        if at < 0:
            return
        end = text.find(_SEPARATOR, at)
        rest = text[end:] if end >= 0 else ''
        self._texts[place] = text[: at - len(_SEPARATOR)] + rest
        self._count -= 1

    def built(self) -> CompactMap[T]:
        """Return the mapping; the builder is not used any more."""
        return CompactMap(self._form, self._texts, self._count)

    def _spread(self) -> None:
        texts = self._texts
        self._texts = [''] * (2 * len(texts))
        for number, text in enumerate(texts):
            # One by one, so that there are never two of all.
            texts[number] = ''
            for row in _split(text):
                place = _place(_key(row), len(self._texts))
                self._texts[place] += f'{_SEPARATOR}{row}'


def _place(key: str, places: int) -> int:
    # The leading bits: what is near in one mapping is near in a larger one.
    return zlib.crc32(key.encode('utf-8', 'surrogatepass')) * places >> 32


def _find(text: str, key: str) -> int:
    """Return where the row of a key begins; negative without one."""
    found = text.find(f'\n[{_encode(key)},')
    return found + 1 if found >= 0 else -1


def _split(text: str) -> list[str]:
    return text.split(_SEPARATOR)[1:]


def _key(row: str) -> str:
    return str(_decode(row, 1)[0])
