"""The version of the installed distribution. Imports almost nothing."""

from __future__ import annotations

import importlib.metadata

DISTRIBUTION = 'ironic-ownership'


def text() -> str:
    """Return the name and version of the installed distribution."""
    try:
        number = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        number = 'not installed'
    return f'{DISTRIBUTION} {number}'
