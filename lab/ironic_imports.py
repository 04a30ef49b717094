"""Imports of the processes of an Ironic, for the program ``forks``.

They are most of what the start of one costs.
"""

from __future__ import annotations

import importlib


def main() -> None:
    """Import all that does not read the configuration meanwhile."""
    for program in ('api', 'conductor', 'singleprocess'):
        importlib.import_module(f'ironic.command.{program}')


if __name__ == '__main__':
    main()
