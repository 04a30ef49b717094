"""Files of operators, and standard input: texts, JSON or YAML."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

from ironic_ownership.cli import errors
from ironic_ownership.contracts import texts

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
    """Read JSON or YAML, as JSON; every such document is one of YAML, too.

    :param path: of the file; ``-`` is standard input.
    :raises UsageError: if it cannot be read.
    """
    import yaml

    name = label(path)
    raw = _bytes_of(path, name)
    try:
        document = yaml.safe_load(raw)
    except Exception as exc:  # any error of its library
        text = ' '.join(str(exc).split())
        raise errors.UsageError(
            f'{name} is neither JSON nor YAML: {text[:300]}'
        ) from exc
    try:
        # YAML has dates, JSON has not.
        text = json.dumps(
            document, default=str, allow_nan=False, ensure_ascii=False
        )
        found = json.loads(text.encode())
    except (TypeError, ValueError, RecursionError) as exc:
        raise errors.UsageError(
            f'{name} is YAML that JSON cannot express: {exc}'
        ) from exc
    if texts.is_deep(found):
        raise errors.UsageError(f'{name} has too many levels')
    return found
