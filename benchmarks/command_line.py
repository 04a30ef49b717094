"""Wall time and memory of commands that show many nodes."""

from __future__ import annotations

import math
import pathlib
import subprocess
import sys
import time

from benchmarks import table

_WALL = 2.0
"""Seconds that a command may take which answers from the records."""

_MEMORY = 100
"""MiB that it may need, for any number of nodes."""

_PROGRAM = """\
import pathlib, sys
from ironic_ownership.cmd.cli import main
code = main()
status = pathlib.Path('/proc/self/status').read_text()
peak = next(one for one in status.splitlines() if one.startswith('VmHWM:'))
print(int(peak.split()[1]) / 1024, file=sys.stderr)
sys.exit(code)
"""
"""A command, and then its highest memory in MiB on a line of its own."""

_DONE = (0, 4)
"""Exit codes: 4 says that a service is down or a node has no owner."""


def measure(config: pathlib.Path, host: str) -> list[table.Row]:
    """Run commands, each in a process of its own.

    :param config: configuration file of a deployment.
    :param host: a service with many nodes.
    """
    recorded = ('compute', 'node', 'list', '--recorded')
    return [
        row
        for words, bound in (
            (('service', 'list'), _WALL),
            ((*recorded, '--service', host, '-f', 'csv'), _WALL),
            ((*recorded, '--service', host, '-f', 'json'), _WALL),
            (('compute', 'node', 'list', '-f', 'csv'), None),
            (('check',), None),
        )
        for row in _rows(config, words, bound)
    ]


def _rows(
    config: pathlib.Path, words: tuple[str, ...], bound: float | None
) -> list[table.Row]:
    began = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, '-c', _PROGRAM),
            *('--config-file', str(config), *words),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    wall = time.monotonic() - began
    if done.returncode not in _DONE:
        raise SystemExit(f'{" ".join(words)} failed: {done.stderr}')
    name = f'{" ".join(words)}: {done.stdout.count(chr(10))} lines'
    memory = float(done.stderr.splitlines()[-1])
    print(f'{name}, {wall:.2f} s, {memory:.0f} MiB', flush=True)
    return [
        table.Row(f'{name}, wall', wall, _WALL, 's', math.inf, bound),
        table.Row(
            *(f'{name}, peak memory', memory, _MEMORY, 'MiB', math.inf),
            bound=_MEMORY if bound else None,
        ),
    ]
