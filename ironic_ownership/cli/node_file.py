"""Files of JSON or YAML that operators hand to commands."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

from ironic_ownership.cli import errors

_LARGEST = 64 * 1024 * 1024
"""Bytes; a description of 100,000 nodes has less."""


def read(path: str) -> Any:
    """Read JSON or YAML; every JSON document is one of YAML, too.

    :param path: of the file; ``-`` is standard input.
    :raises UsageError: if it cannot be read.
    """
    import yaml

    try:
        if path == '-':
            raw = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with pathlib.Path(path).open('rb') as source:
                raw = source.read(_LARGEST + 1)
    except OSError as exc:
        raise errors.UsageError(
            f'{path} cannot be read: {exc.strerror}'
        ) from exc
    if len(raw) > _LARGEST:
        raise errors.UsageError(f'{path} is larger than {_LARGEST} bytes')
    try:
        return yaml.safe_load(raw)
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        text = ' '.join(str(exc).split())
        raise errors.UsageError(
            f'{path} is neither JSON nor YAML: {text[:300]}'
        ) from exc
