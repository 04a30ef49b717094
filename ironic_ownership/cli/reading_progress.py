"""Progress of a command that waits for Ironic's list of nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from ironic_ownership.cli import errors

INTERVAL = 2.0
"""Seconds before the first line, and between two lines."""


def of(stream: TextIO) -> Callable[[int], object]:
    """Return what reports the number of nodes that were read so far.

    :param stream: standard error. Nothing is written unless it is a terminal:
        scripts compare it, and a short list needs no progress.
    """
    if not stream.isatty():
        return int
    reported_at = time.monotonic()

    def report(nodes: int) -> None:
        nonlocal reported_at
        now = time.monotonic()
        if now - reported_at >= INTERVAL:
            reported_at = now
            stream.write(f'{errors.PROG}: {nodes} nodes read from Ironic\n')
            stream.flush()

    return report
