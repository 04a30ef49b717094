"""Bulk moves with every gate, a real Ironic and two databases.

On SQLite and on PostgreSQL, for three sizes. The figure covers a move without
the start of the program: selection, one scan of Ironic, the gates, the stored
plan and the batches. The verification that follows scans Ironic again and has
a figure of its own, without a target; most of both scans is Ironic's own time.
Nova's command moves one node in two seconds, most of them its start. No peer
does bulk moves: instead the targets are 1,000 nodes per second, and for growth
the ratio of the sizes. Ironic, the database and this process share the
machine, so the fastest of several rounds counts.

    python -m benchmarks.move [--nodes 10000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
import time
from collections.abc import Sequence

from benchmarks import deployment, table
from ironic_ownership import wiring
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.moves import Move, NodeState
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db import connection, records, schema
from ironic_ownership.db import heartbeats as backend_db
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes import selection
from ironic_ownership.engine.host import reconciler
from ironic_ownership.engine.ports import Ports
from lab import enrolment, ironic, postgresql

RATE = 1000
"""The minimal number of nodes per second."""

GROWTH = 1.3
"""The growth from the smallest to the largest size, against linear growth."""

_SETTINGS = model.MemberSettings((model.PolicySettings('all'),))
_PARTS = (4, 2, 1)


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds of the steps of one move."""

    nodes: int
    gates: float
    batches: float
    verification: float

    @property
    def whole(self) -> float:
        """Seconds of the move, which ends before its verification."""
        return self.gates + self.batches


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.move',
        description='Move the nodes of a real Ironic in bulk.',
    )
    parser.add_argument('--nodes', type=int, default=10_000)
    parser.add_argument('--rounds', type=int, default=3)
    args = parser.parse_args(argv)
    with (
        deployment.directory() as directory,
        ironic.Ironic(directory / 'ironic') as server,
        deployment.postgresql_in(directory) as database,
    ):
        nodes = enrolment.Enrolment(server)
        return _measure_all(
            nodes, directory, database, args.nodes, args.rounds
        )


def _measure_all(
    nodes: enrolment.Enrolment,
    directory: pathlib.Path,
    database: postgresql.PostgreSQL,
    count: int,
    rounds: int,
) -> int:
    timings: dict[str, list[Timing]] = {'SQLite': [], 'PostgreSQL': []}
    enrolled = 0
    for part in _PARTS:
        size = count // part
        nodes.enrol(size - enrolled, instance_share=0.5)
        enrolled = size
        for name, urls in (
            ('SQLite', _files(directory, size, rounds)),
            (
                'PostgreSQL',
                [
                    database.create_database(f'move{size}x{number}')
                    for number in range(rounds)
                ],
            ),
        ):
            endpoint = nodes.server.endpoint
            measured = [_measure(endpoint, url, size) for url in urls]
            timings[name].append(min(measured, key=lambda t: t.whole))
    return _show(timings)


def _files(directory: pathlib.Path, size: int, rounds: int) -> list[str]:
    return [
        f'sqlite:///{directory}/{size}-{number}.sqlite'
        for number in range(rounds)
    ]


def _measure(endpoint: str, url: str, size: int) -> Timing:
    """Move all nodes of an Ironic from one service to another."""
    opened = connection.open_database(url)
    schema.upgrade(opened)
    stored, kept = records.SqlRecords(opened), SqlMoves(opened)
    bare_metal = deployment.open_ironic(endpoint)
    epoch = stored.register('old', _SETTINGS)
    stored.register('new', _SETTINGS)
    _claim(stored, epoch, bare_metal.scan(model.Scope()))
    stored.set_service('old', actor='benchmark', forced_down=True)
    backend = backend_db.DatabaseBackend(
        {'connection': url}, member_ttl=3600, call_timeout=30
    )
    backend.join('new', 'benchmark', _SETTINGS)
    ports = Ports(stored, bare_metal, backend, wiring.interpret)
    try:
        return _move(ports, kept, size)
    finally:
        backend.close()
        opened.close()


def _claim(
    stored: records.SqlRecords, epoch: int, nodes: Sequence[model.Node]
) -> None:
    for start in range(0, len(nodes), reconciler.BATCH):
        stored.apply(
            'old',
            epoch,
            [
                Claim(node, reasons.Reason.EXCLUSIVE)
                for node in nodes[start : start + reconciler.BATCH]
            ],
        )


def _move(ports: Ports, kept: SqlMoves, size: int) -> Timing:
    operation = move_nodes.MoveNodes(
        ports, kept, sharded=lambda: False, permission_lifetime=0.0
    )
    order = Move(new_request_id(), 'new', 'benchmark')
    started = time.perf_counter()
    proposal = operation.propose(order, selection.Selection(source='old'))
    reported: list[float] = []
    (result,) = operation.execute_all(
        [proposal],
        progress=lambda done, total: reported.append(time.perf_counter()),
    )
    verified = time.perf_counter()
    evaluated, carried_out = reported[0], reported[-1]
    moved = result.count(NodeState.MOVED)
    if moved != size or result.findings:
        raise SystemExit(f'{moved} of {size} moved: {result.findings[:3]}')
    return Timing(
        size,
        evaluated - started,
        carried_out - evaluated,
        verified - carried_out,
    )


def _show(timings: dict[str, list[Timing]]) -> int:
    rows = []
    for name, measured in timings.items():
        first, last = measured[0], measured[-1]
        rows.append(
            table.Row(
                f'{name}: seconds for {last.nodes} nodes; the peer is '
                f'{RATE} nodes a second',
                last.whole,
                last.nodes / RATE,
                's',
                1.0,
            )
        )
        rows.append(
            table.Row(
                f'{name}: growth from {first.nodes} to {last.nodes}; the '
                'peer is linear',
                last.whole / first.whole,
                last.nodes / first.nodes,
                'times',
                GROWTH,
            )
        )
    code = table.show('Move in bulk, every gate, a real Ironic', rows)
    for name, measured in timings.items():
        for timing in measured:
            print(
                f'{name}, {timing.nodes}: '
                f'{timing.nodes / timing.whole:.0f} nodes a second; gates '
                f'with their scan {timing.gates:.2f} s, plan and batches '
                f'{timing.batches:.2f} s, verification with its scan '
                f'{timing.verification:.2f} s'
            )
    return code


if __name__ == '__main__':
    sys.exit(main())
