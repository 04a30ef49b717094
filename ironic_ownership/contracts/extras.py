"""Installation of extras and satellites: the packages are in no index."""

from __future__ import annotations

import pathlib
import sys

KIT = 'ironic-ownership-plugin-kit'
"""Distribution of the commands and suites for authors of plugins."""
NOVA = 'ironic-ownership-nova'
"""Distribution of what belongs to a Nova cell, and of Nova's driver."""


def hint(*extras: str) -> str:
    """Return what an operator does to install one of some extras.

    :param extras: names in ``pyproject.toml``.
    """
    return directory_hint(*(f"'.[{extra}]'" for extra in extras))


def directory_hint(*directories: str) -> str:
    """Return what an operator does to install one of some directories.

    :param directories: as words of the shell.
    """
    pip = pathlib.Path(sys.prefix, 'bin', 'pip')
    commands = [f'{pip} install {directory}' for directory in directories]
    return f'In a checkout of ironic-ownership, run {" or ".join(commands)}'
