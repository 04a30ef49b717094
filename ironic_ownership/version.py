"""The version of the installed distribution. Imports almost nothing."""

from __future__ import annotations

import importlib.metadata

DISTRIBUTION = 'ironic-ownership'


def text() -> str:
    """Return the name and version of the installed distribution."""
    return f'{DISTRIBUTION} {number()}'


def number() -> str:
    """Return the version of the installed distribution."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return 'not installed'
