"""Files with nodes and their owners, as CSV or JSON.

Every fault is reported with its place, so that all can be corrected at once.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ironic_ownership.cli import errors, node_file
from ironic_ownership.engine.suggestions import is_uuid

_OWNER = ('owner', 'service', 'host')
"""Names of the column of the owner."""

_NAME = re.compile(r'[^/\s]{1,255}')

Pair = tuple[str, str, str]
"""Place, uuid and owner."""


@dataclasses.dataclass(frozen=True)
class Owners:
    """The content of a file.

    :param owners: by the node's uuid in lower case, in the file's order.
    :param faults: one sentence for each entry that cannot be used.
    """

    owners: dict[str, str]
    faults: Sequence[str]


def read(path: str) -> Owners:
    """Read a file.

    JSON is a list of objects with ``uuid`` and ``owner``, or one object with
    owners by uuid. All else is CSV: a line for each node with uuid and owner,
    separated by a comma, after an optional header that names the columns;
    lines that begin with ``#`` are comments.

    :param path: of the file; ``-`` is standard input.
    :raises UsageError: if it cannot be read.
    """
    text = node_file.text_of(path)
    pairs = (
        _of_json(text, path)
        if text.lstrip().startswith(('[', '{'))
        else _of_csv(text, path)
    )
    owners: dict[str, str] = {}
    places: dict[str, str] = {}
    faults = []
    for place, node, service in pairs:
        uuid, owner = node.strip().lower(), service.strip()
        fault = _fault(uuid, owner, places)
        if fault:
            faults.append(f'{path}: {place}: {fault}')
        else:
            owners[uuid], places[uuid] = owner, place
    return Owners(owners, faults)


def _fault(uuid: str, owner: str, places: dict[str, str]) -> str | None:
    if not is_uuid(uuid):
        return f'{uuid[:80]!r} is not a uuid'
    if uuid in places:
        return f'{uuid} is a duplicate of {places[uuid]}'
    if not owner:
        return f'{uuid} has no owner'
    if not (_NAME.fullmatch(owner) and owner.isprintable()):
        return f'{owner[:80]!r} cannot be the name of a service'
    return None


def _of_csv(text: str, path: str) -> Iterator[Pair]:
    reader = csv.reader(text.splitlines(), skipinitialspace=True)
    uuid_at, owner_at, is_first = 0, 1, True
    try:
        for row in reader:
            if not any(row) or row[0].lstrip().startswith('#'):
                continue
            names = [cell.strip().lower() for cell in row]
            if is_first and 'uuid' in names:
                uuid_at, owner_at = _columns(names, path)
                is_first = False
                continue
            is_first = False
            uuid, owner = (
                row[at] if at < len(row) else '' for at in (uuid_at, owner_at)
            )
            yield f'line {reader.line_num}', uuid, owner
    except csv.Error as exc:
        raise errors.UsageError(
            f'{path}: line {reader.line_num}: {exc}'
        ) from exc


def _columns(names: Sequence[str], path: str) -> tuple[int, int]:
    owners = [names.index(name) for name in _OWNER if name in names]
    if not owners:
        raise errors.UsageError(
            f'{path}: the header has no column of the owner',
            hint=f'Name it {" or ".join(_OWNER)}',
        )
    return names.index('uuid'), owners[0]


def _of_json(text: str, path: str) -> Iterator[Pair]:
    try:
        data = json.loads(text, object_pairs_hook=_every_pair)
    except (ValueError, RecursionError) as exc:
        raise errors.UsageError(f'{path} is not JSON: {exc}') from exc
    if isinstance(data, _Object):
        for number, (uuid, owner) in enumerate(data.pairs, start=1):
            yield f'entry {number}', uuid, _word(owner)
        return
    for number, one in enumerate(data, start=1):
        values = dict(one.pairs) if isinstance(one, _Object) else {}
        owner = next((values[n] for n in _OWNER if values.get(n)), '')
        yield f'entry {number}', _word(values.get('uuid')), _word(owner)


@dataclasses.dataclass(frozen=True)
class _Object:
    """A JSON object with all its pairs: one of equal names is not lost."""

    pairs: Sequence[tuple[str, Any]]


def _every_pair(pairs: Iterable[tuple[str, Any]]) -> _Object:
    return _Object(list(pairs))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ''
