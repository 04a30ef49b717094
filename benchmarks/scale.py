"""Costs of the refreshes of one service when nothing, or little, changes.

A real Ironic with all nodes, the records in PostgreSQL, and one host process
after the other on a database of its own: ours, and a reader that lists all
nodes in every refresh, which is ours with ``full_refresh_interval = 0``. One
node in five is deployed. The nodes are written into Ironic's database, where
enrolment would take hours; those that change later are changed there, too,
with the time that Ironic would write.

    python -m benchmarks.scale [--nodes 100000] [--changed 100] [--rounds 3]

The refresh that follows a change reads the records that were written by then.
Figures of ours are medians of the rounds, the reader has one. Requests,
statements, processor time and memory are those of the host process; Ironic's
processor time is that of all its processes. At the end the command line shows
what is on record, with its imports and start, and what Ironic has. Before that
PostgreSQL has made its statistics, about a minute after the records were
written: without them it sorts all of them for each page of a list.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks import deployment, table
from lab import enrolment, ironic, postgresql

LONG = 86_400
FOR_CHANGES = 2
"""More statements than in a steady refresh, to read what changed."""
RECOVERY_DELAY = 5
SERVICES = 10
FULL_REFRESHES_AN_HOUR = 2
"""At most, with the default interval; see ``FleetReader``."""

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

Figures = dict[str, float]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.scale',
        description='Measure the refreshes of one service of a real Ironic.',
    )
    parser.add_argument('--nodes', type=int, default=100_000)
    parser.add_argument('--changed', type=int, default=100)
    parser.add_argument('--rounds', type=int, default=3)
    args = parser.parse_args(argv)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(deployment.directory())
        server = stack.enter_context(ironic.Ironic(directory / 'ironic'))
        nodes = enrolment.Enrolment(server)
        uuids = nodes.enrol(args.nodes, instance_share=0.2)
        nodes.age()
        records = stack.enter_context(deployment.postgresql_in(directory))
        bench = Bench(directory, server, records, uuids[: args.changed])
        peer = bench.measure('whole', 0, 1)
        ours = bench.measure('changes', LONG, args.rounds)
        # In a deployment they are never older than a minute.
        records.wait_for_statistics('changes', 'compute_nodes')
        commands = _commands(directory / 'changes.conf', 'changes')
    return _show(args.nodes, args.changed, ours, peer, commands)


class Bench:
    """One Ironic, and services that are measured one after the other."""

    def __init__(
        self,
        directory: pathlib.Path,
        server: ironic.Ironic,
        records: postgresql.PostgreSQL,
        changed: Sequence[str],
    ) -> None:
        self._directory = directory
        self._server = server
        self._records = records
        self._changed = changed
        self._changes = 0

    def measure(
        self, name: str, interval: float, rounds: int
    ) -> dict[str, Figures]:
        """Return the figures of the passes of one service."""
        found: dict[str, Figures] = {}
        with self._service(name, interval) as refresh:
            found['first'] = refresh()
            if interval:
                refresh()  # reads all records, after the claims
                # Until then a conductor may be a new one.
                time.sleep(RECOVERY_DELAY)
                refresh()
            found['steady'] = _median([refresh() for _ in range(rounds)])
            changes, following = [], []
            for _ in range(rounds):
                self._change()
                changes.append(refresh())
                # It reads the records that were written.
                following.append(refresh())
            found['changed'] = _median(changes)
            found['following'] = _median(following)
        for what, figures in found.items():
            print(
                f'{name}, {what}: '
                + ', '.join(f'{k} {v:.4g}' for k, v in figures.items()),
                flush=True,
            )
        return found

    def _change(self) -> None:
        self._changes += 1
        with self._server.sql() as database:
            database.executemany(
                'UPDATE nodes SET name = ? WHERE uuid = ?',
                [(f'{u}-{self._changes}', u) for u in self._changed],
            )

    @contextlib.contextmanager
    def _service(
        self, name: str, interval: float
    ) -> Iterator[Callable[[], Figures]]:
        # Here, not in the process that is measured: no host needs alembic.
        url = self._records.create_database(name)
        deployment.upgrade(url)
        config = self._directory / f'{name}.conf'
        config.write_text(
            deployment.configuration(
                *(name, 'peer_list', url, self._server.endpoint),
                *('[DEFAULT]', f'log_file = {self._directory / name}.log'),
                *('[ownership]', f'refresh_interval = {LONG}'),
                f'full_refresh_interval = {interval}',
                f'recovery_delay = {RECOVERY_DELAY - 1}',
            )
        )
        child = subprocess.Popen(
            [
                *(sys.executable, '-m', 'benchmarks.measured_host'),
                *(str(config), str(self._server.pid)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdin is not None and child.stdout is not None
        into, out = child.stdin, child.stdout

        def refresh() -> Figures:
            into.write('\n')
            into.flush()
            figures: Figures = json.loads(out.readline())
            return figures

        try:
            yield refresh
        finally:
            into.close()
            child.wait()


def _median(figures: Sequence[Figures]) -> Figures:
    return {
        name: statistics.median(one[name] for one in figures)
        for name in figures[0]
    }


def _show(
    nodes: int,
    changed: int,
    ours: dict[str, Figures],
    peer: dict[str, Figures],
    commands: Sequence[table.Row],
) -> int:
    steady, whole = ours['steady'], peer['steady']
    a_minute = SERVICES * (
        steady['ironic cpu']
        + whole['ironic cpu'] * FULL_REFRESHES_AN_HOUR / 60
    )
    target = 200 if nodes > 10_000 else 60

    def row(
        measure: str, mine: float, other: float, unit: str, most: float
    ) -> table.Row:
        return table.Row(measure, mine, max(other, 1e-9), unit, most)

    return table.show(
        f'Refreshes of {nodes} nodes of a real Ironic, against a reader that '
        'lists all of them',
        [
            row(
                'first pass, wall',
                ours['first']['wall'],
                peer['first']['wall'],
                's',
                1.1,
            ),
            row('steady: wall', steady['wall'], whole['wall'], 's', 1 / 50),
            row('steady: CPU, against 0.1 s', steady['cpu'], 0.1, 's', 1.0),
            row('steady: requests, against 3', steady['requests'], 3, '', 1),
            row(
                'steady: statements',
                steady['statements'],
                whole['statements'],
                '',
                1.0,
            ),
            row(
                f'{changed} changed: wall',
                ours['changed']['wall'],
                peer['changed']['wall'],
                's',
                1 / 20,
            ),
            row(
                f'{changed} changed: CPU',
                ours['changed']['cpu'],
                peer['changed']['cpu'],
                's',
                0.5,
            ),
            row(
                f'{changed} changed: applied, of all',
                changed,
                ours['changed']['applied'],
                '',
                1.0,
            ),
            row(
                f'after {changed} own changes: CPU, against 0.2 s',
                ours['following']['cpu'],
                0.2,
                's',
                1.0,
            ),
            row(
                f'after {changed} own changes: statements',
                ours['following']['statements'],
                steady['statements'] + FOR_CHANGES,
                '',
                1.0,
            ),
            row(
                f"{SERVICES} services: Ironic's CPU a minute, computed",
                a_minute,
                SERVICES * whole['ironic cpu'],
                's',
                1 / 20,
            ),
            row(
                f'memory at rest, the most, against {target} MiB',
                max(one['memory'] for one in ours.values()),
                target,
                'MiB',
                1.0,
            ),
            *commands,
        ],
    )


def _commands(config: pathlib.Path, host: str) -> list[table.Row]:
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


if __name__ == '__main__':
    sys.exit(main())
