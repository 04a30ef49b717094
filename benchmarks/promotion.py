"""Promotion of a standby under running services: a table of the rounds.

Runs the nemesis with no other faults than promotions, once with a synchronous
standby and once with an asynchronous one that lacks the commits of some
seconds, and nodes and services that change all the time. The target is no
violation.

    python -m benchmarks.promotion [--minutes 5] [--seed 1]
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.nemesis import report
from benchmarks.nemesis.cluster import Cluster
from benchmarks.nemesis.run import Run
from benchmarks.nemesis.settings import Settings

_CHANGES = ('force-down', 'move', 'create-node', 'delete-node', 'deploy-node')
_RUNS: Mapping[str, tuple[str, ...]] = {
    'postgresql-standby': ('records-promote', *_CHANGES),
    'postgresql-async': ('records-rewind', *_CHANGES),
}
_HEAD = (
    *('standby', 'promotions', 'violations', 'losses noticed'),
    *('free node unserved', 'all as it should be'),
)


def _run(records: str, options: argparse.Namespace) -> dict[str, Any]:
    settings = Settings(
        seed=options.seed,
        minutes=options.minutes,
        records=records,
        storm=options.storm,
        kinds=_RUNS[records],
    )
    with tempfile.TemporaryDirectory(prefix='promotion-') as name:
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        with Cluster(directory, settings) as cluster:
            run = Run(cluster)
            run.run(lambda line: print(line, flush=True))
            return report.figures(run)


def _row(records: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    faults, longest = found['faults'], found['longest']
    promotions = faults.get('commits-lost', 0) + faults.get('server-kill', 0)
    return (
        'synchronous' if records == 'postgresql-standby' else 'asynchronous',
        str(promotions),
        str(len(found['violations'])),
        str(found['losses_noticed']),
        f'{longest["free_node_unserved"]} s',
        f'{longest["convergence"]} s',
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run both, and print the table.

    :returns: an exit code: 0 without a violation, else 1.
    """
    parser = argparse.ArgumentParser(prog='python -m benchmarks.promotion')
    parser.add_argument('--minutes', type=float, default=5, help='of each run')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument(
        '--storm', type=float, default=25, help='seconds of one round'
    )
    options = parser.parse_args(argv)
    found = {records: _run(records, options) for records in _RUNS}
    lines = [_HEAD, *(_row(*item) for item in found.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, strict=True)
        print('  '.join(f'{c:<{w}}' for c, w in cells).rstrip())
    for figures in found.values():
        for violation in figures['violations']:
            print(f'{violation["law"]}: {violation["text"]}')
    return 1 if any(one['violations'] for one in found.values()) else 0


if __name__ == '__main__':
    sys.exit(main())
