"""Faults survived: runs of the nemesis on clusters, as one table.

First single faults: of a Galera cluster behind HAProxy, of a Redis whose
configuration is unsafe, and promotions of a standby, an asynchronous one
without the last commits, while nodes and services change. Then random ones of
everything on each cluster, again with a fence that is broken on purpose, and
with a guard that permits everything, to show that violations would be found.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.nemesis import sums

_CHECKOUT = pathlib.Path(__file__).resolve().parents[1]
_FENCE = 'fence'
_CHANGES = 'force-down,move,create-node,delete-node,deploy-node'
_PROMOTED, _REWOUND = (
    f'records-promote,{_CHANGES}',
    f'records-rewind,{_CHANGES}',
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One run.

    :param kinds: the only kinds of faults; all if empty.
    :param broken: what is broken on purpose; nothing if empty.
    """

    title: str
    records: str
    members: str
    kinds: str = ''
    broken: str = ''

    def arguments(self) -> list[str]:
        """Return the options of the nemesis."""
        given = ['--records', self.records, '--members', self.members]
        if self.kinds:
            given += ['--kinds', self.kinds, '--pause', '6']
        if self.broken:
            given += ['--broken', self.broken]
        return given


SINGLE = (
    Row('writer killed', 'galera-proxy', 'db', 'records-kill'),
    Row('writer frozen', 'galera-proxy', 'db', 'records-freeze'),
    Row('writer cut off', 'galera-proxy', 'db', 'records-isolate'),
    Row('proxy restarted', 'galera-proxy', 'db', 'proxy-kill'),
    Row('standby promoted', 'postgresql-standby', 'db', _PROMOTED),
    Row('late standby promoted', 'postgresql-async', 'db', _REWOUND),
    # Both sides declare each other dead, and still no node has two owners.
    Row(
        'Redis without a limit',
        'postgresql',
        'redis-unlimited',
        'members-isolate',
    ),
)
EVERYTHING = (
    Row('Galera, three writers', 'galera', 'db'),
    Row('three etcd', 'postgresql', 'etcd-cluster'),
    Row('three ZooKeeper', 'postgresql', 'zookeeper-cluster'),
    Row('Redis, three sentinels', 'postgresql', 'redis-cluster'),
)
BROKEN = (
    *(dataclasses.replace(row, broken=_FENCE) for row in EVERYTHING),
    Row('any permission', 'postgresql', 'db', broken='guard'),
)


def measure(row: Row, seed: int, minutes: float) -> dict[str, Any] | None:
    """Run the nemesis, and return its report.

    :returns: ``None`` if the run itself failed; its output is shown then.
    """
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / 'report.json'
        done = subprocess.run(
            [
                *(sys.executable, '-m', 'benchmarks.nemesis'),
                *('--seed', str(seed), '--minutes', str(minutes)),
                *('--storm', '30', '--report', str(file)),
                *row.arguments(),
            ],
            cwd=_CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not file.exists():
            print(done.stdout, file=sys.stderr)
            return None
        found: dict[str, Any] = json.loads(file.read_text())
        return found


def lines(row: Row, report: dict[str, Any] | None) -> Iterator[str]:
    """Return the line of the table, and up to three violations."""
    fence = 'broken' if row.broken else 'kept'
    if report is None:
        yield f'{row.title:24}{fence:8}  the run itself failed'
        return
    longest = report['longest']['free_node_unserved']
    laws, others = sums.violations(report)
    yield (
        f'{row.title:24}{fence:8}{report["rounds"]:8}'
        f'{sum(report["faults"].values()):8}'
        f'{report["permissions_checked"]:13}'
        f'{laws:12}{others:8}{longest:12.1f}'
    )
    if not row.broken:
        for one in report['violations'][:3]:
            yield f'    {one["law"]}: {one["text"][:150]}'


def main(argv: Sequence[str] | None = None) -> int:
    """Run all rows, and print each line when it is known.

    :returns: an exit code: 0 if each fence that is kept has no violation,
        and each broken one has.
    """
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.faults', description=__doc__
    )
    parser.add_argument('--minutes', type=float, default=5, help='of each row')
    parser.add_argument('--seed', type=int, default=random.randrange(2**31))
    parser.add_argument(
        '--rows', help='only the rows whose title contains this text'
    )
    options = parser.parse_args(argv)
    print(f'Faults survived, seed {options.seed}')
    print(
        f'{"":24}{"fence":8}{"rounds":>8}{"faults":>8}{"permissions":>13}'
        f'{"violations":>12}{"others":>8}{"unserved s":>12}'
    )
    as_expected = True
    for row in (*SINGLE, *EVERYTHING, *BROKEN):
        if options.rows and options.rows not in row.title:
            continue
        report = measure(row, options.seed, options.minutes)
        for line in lines(row, report):
            print(line, flush=True)
        found = bool(report and sum(sums.violations(report)))
        as_expected &= report is not None and found == bool(row.broken)
    return 0 if as_expected else 1


if __name__ == '__main__':
    sys.exit(main())
