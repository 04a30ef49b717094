"""Faults that a test run survived, for the table that ``tools/faults`` prints.

Each process of a run appends to one file; without a run of stestr there is
none, and nothing is written.
"""

from __future__ import annotations

import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parents[3] / '.stestr' / 'faults'


def note(
    title: str,
    *,
    faults: int,
    events: int,
    violations: int,
    unserved: float | None = None,
) -> None:
    """Add one line.

    :param title: the deployment and what happened to it.
    :param events: of the history that was evaluated.
    :param unserved: longest time in seconds for which a free node had no
        service that could act; ``None`` if it was not observed.
    """
    if not FILE.parent.is_dir():
        return
    line = {
        'title': title,
        'faults': faults,
        'events': events,
        'violations': violations,
        'unserved': unserved,
    }
    with FILE.open('a') as file:
        file.write(json.dumps(line) + '\n')
