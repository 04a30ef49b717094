"""Which nodes an operator names: words and files, every fault by its place.

Reads and resolves; whether a node may be moved is the gates' to judge.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import uuid as uuid_
from collections.abc import Iterable, Mapping, Sequence

from ironic_ownership.cli import errors
from ironic_ownership.contracts import exceptions


@dataclasses.dataclass(frozen=True)
class Entry:
    """One node as it was named.

    :param place: where, such as ``line 17``.
    """

    place: str
    text: str


@dataclasses.dataclass(frozen=True)
class Named:
    """What became of the entries.

    :param uuids: in their order, in lower case, each once.
    :param faults: one sentence for each entry that names no node.
    :param places: where each of the uuids was named.
    """

    uuids: Sequence[str]
    faults: Sequence[str]
    places: Mapping[str, str] = dataclasses.field(default_factory=dict)


def read_file(path: str) -> list[Entry]:
    """Read a file with one uuid a line; ``#`` begins a comment.

    :param path: of the file; ``-`` is standard input.
    :raises UsageError: if it cannot be read.
    """
    try:
        if path == '-':
            raw = sys.stdin.buffer.read()
        else:
            raw = pathlib.Path(path).read_bytes()
        text = raw.decode('utf-8-sig')
    except OSError as exc:
        raise errors.UsageError(
            f'--file {path} cannot be read: {exc.strerror}'
        ) from exc
    except UnicodeDecodeError as exc:
        raise errors.UsageError(
            f'--file {path} is not a text in UTF-8',
            hint='It has to hold one uuid a line',
        ) from exc
    lines = (
        (number, line.partition('#')[0].strip())
        for number, line in enumerate(text.splitlines(), start=1)
    )
    return [Entry(f'line {n}', line) for n, line in lines if line]


def of_words(words: Iterable[str]) -> list[Entry]:
    """Return the entries of the command's arguments."""
    return [
        Entry(f'argument {number}', word)
        for number, word in enumerate(words, start=1)
    ]


def resolve(
    entries: Iterable[Entry], names: Mapping[str, Sequence[str]] | None
) -> Named:
    """Turn entries into uuids.

    :param names: uuids by name; ``None`` where only uuids are taken.
    """
    first: dict[str, str] = {}
    faults: list[str] = []
    for entry in entries:
        try:
            uuid = _uuid(entry.text, names)
        except exceptions.NotFoundError as exc:
            faults.append(f'{entry.place}: {exc}')
            continue
        if uuid in first:
            faults.append(
                f'{entry.place}: {entry.text} is a duplicate of {first[uuid]}'
            )
            continue
        first[uuid] = entry.place
    return Named(list(first), faults, first)


def is_uuid(text: str) -> bool:
    """Tell whether a text is a uuid in Ironic's form, in any case."""
    try:
        return str(uuid_.UUID(text)) == text.lower()
    except ValueError:
        return False


def _uuid(text: str, names: Mapping[str, Sequence[str]] | None) -> str:
    if is_uuid(text):
        return text.lower()
    if names is None:
        raise exceptions.NotFoundError(f'{text[:80]!r} is not a uuid')
    found = names.get(text, ())
    if len(found) > 1:
        raise exceptions.NotFoundError(
            f'{text!r} is the name of {len(found)} nodes on record: name '
            'one by its uuid'
        )
    if not found:
        raise errors.unknown('node', text, list(names))
    return found[0]
