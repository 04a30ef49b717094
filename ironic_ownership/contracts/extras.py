"""Installation of the extras: the package is in no index."""

from __future__ import annotations

import pathlib
import sys


def hint(*extras: str) -> str:
    """Return what an operator does to install one of some extras.

    :param extras: names in ``pyproject.toml``.
    """
    pip = pathlib.Path(sys.prefix, 'bin', 'pip')
    commands = [f"{pip} install '.[{extra}]'" for extra in extras]
    return f'In a checkout of ironic-ownership, run {" or ".join(commands)}'
