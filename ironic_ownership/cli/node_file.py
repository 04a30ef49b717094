"""Nodes and files of operators: uuids, names, JSON or YAML.

The records resolve nodes. Every fault is reported with its place.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.api.operation_client import OperationClient
from ironic_ownership.cli import errors
from ironic_ownership.contracts.texts import is_uuid

_LARGEST = 64 * 1024 * 1024
"""Bytes; a description of 100,000 nodes has less."""


def label(path: str) -> str:
    """Return what messages call a file."""
    return 'standard input' if path == '-' else path


def text_of(path: str, name: str = '', *, hint: str = '') -> str:
    """Read a text.

    :param path: of the file; ``-`` is standard input.
    :param name: of the file in errors.
    :param hint: on one that is not a text.
    :raises UsageError: if it cannot be read.
    """
    name = name or label(path)
    try:
        return _bytes_of(path, name).decode('utf-8-sig')
    except UnicodeDecodeError as exc:
        raise errors.UsageError(
            f'{name} is not a text in UTF-8', hint=hint
        ) from exc


def _bytes_of(path: str, name: str) -> bytes:
    try:
        if path == '-':
            raw = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with pathlib.Path(path).open('rb') as source:
                raw = source.read(_LARGEST + 1)
    except OSError as exc:
        raise errors.UsageError(
            f'{name} cannot be read: {exc.strerror}'
        ) from exc
    if len(raw) > _LARGEST:
        raise errors.UsageError(f'{name} is larger than {_LARGEST} bytes')
    return raw


def read(path: str) -> Any:
    """Read JSON or YAML; every JSON document is one of YAML, too.

    :param path: of the file; ``-`` is standard input.
    :raises UsageError: if it cannot be read.
    """
    import yaml

    name = label(path)
    raw = _bytes_of(path, name)
    try:
        return yaml.safe_load(raw)
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        text = ' '.join(str(exc).split())
        raise errors.UsageError(
            f'{name} is neither JSON nor YAML: {text[:300]}'
        ) from exc


_CHUNK = 2_000
"""References in one request: they fit the default limit of HTTP bodies."""


Entries = Mapping[str, str]
"""References to nodes, by their place: ``line 17``."""


@dataclasses.dataclass(frozen=True)
class Named:
    """The nodes that entries refer to.

    :param uuids: in their order, in lower case, each once.
    :param faults: one sentence for each entry that refers to no node.
    """

    uuids: Sequence[str]
    faults: Sequence[str]


def of_words(api: OperationClient, words: Sequence[str]) -> Named:
    """Resolve arguments: uuids, on record or not, and names."""
    entries = {f'argument {n}': word for n, word in enumerate(words, start=1)}
    names = [text for text in entries.values() if not is_uuid(text)]
    return _named(entries, _resolved(api, names))


def of_file(api: OperationClient, path: str) -> Named:
    """Resolve the uuids in a file; each needs a compute node on record.

    :param path: of the file; ``-`` is standard input.
    :raises UsageError: if it cannot be read.
    """
    entries = read_file(path)
    uuids = [text for text in entries.values() if is_uuid(text)]
    others = {
        text: {'uuid': None, 'fault': f'{text[:80]!r} is not a uuid'}
        for text in entries.values()
        if not is_uuid(text)
    }
    named = _named(entries, {**others, **_resolved(api, uuids)})
    name = label(path)
    return Named(named.uuids, [f'{name}: {fault}' for fault in named.faults])


def read_file(path: str) -> Entries:
    """Read a file with one uuid a line; ``#`` begins a comment.

    :raises UsageError: if it cannot be read.
    """
    text = text_of(
        path, f'--file {path}', hint='It has to hold one uuid a line'
    )
    lines = (
        (number, line.partition('#')[0].strip())
        for number, line in enumerate(text.splitlines(), start=1)
    )
    return {f'line {n}': line for n, line in lines if line}


def _resolved(api: OperationClient, texts: Iterable[str]) -> dict[str, Any]:
    found = {}
    distinct = list(dict.fromkeys(texts))
    for start in range(0, len(distinct), _CHUNK):
        body = {'nodes': distinct[start : start + _CHUNK]}
        answer = api.call('compute_node:resolve', body=body)
        found.update({one['text']: one for one in answer['nodes']})
    return found


def _named(
    entries: Entries, resolved: Mapping[str, Mapping[str, Any]]
) -> Named:
    """Take each node once; a reference that is not resolved is a uuid."""
    first: dict[str, str] = {}
    faults = []
    for place, text in entries.items():
        found = resolved.get(text, {'uuid': text.lower()})
        uuid = found['uuid']
        if uuid is None:
            faults.append(f'{place}: {found["fault"]}')
        elif uuid in first:
            faults.append(f'{place}: {text} is a duplicate of {first[uuid]}')
        else:
            first[uuid] = place
    return Named(list(first), faults)
