"""Writes a second on MariaDB and on Galera, with and without revisions.

Three services write at the same time: all through one server, or each through
a node of its own. The peer is the same run without the revisions that make
the writes certified, on the same server.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import pathlib
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence

from benchmarks import table
from benchmarks.galera import without_revisions
from benchmarks.galera_choice import Ports
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.moves import Move, NodeMove
from ironic_ownership.contracts.records import Claim, Release
from ironic_ownership.db import connection, heartbeats, schema
from lab import galera, mariadb

_HOSTS = ('host1', 'host2', 'host3')
_TARGET = 1.5
_RUNS = 5

Work = Callable[[Ports, str, int], None]


def _claims(ports: Ports, host: str, rounds: int) -> None:
    epoch = ports.records.register(host, model.MemberSettings())
    node = model.Node(str(uuid.uuid4()))
    for _ in range(rounds // 2):
        claim = Claim(node, reasons.Reason.EXCLUSIVE)
        ports.records.apply(host, epoch, [claim])
        ports.records.apply(host, epoch, [Release(node.uuid)])


def _moves(ports: Ports, host: str, rounds: int) -> None:
    records = ports.records
    away = f'{host}-away'
    epochs = [
        records.register(one, model.MemberSettings()) for one in (host, away)
    ]
    node = model.Node(str(uuid.uuid4()))
    records.apply(host, epochs[0], [Claim(node, reasons.Reason.EXCLUSIVE)])
    for one in (host, away):
        records.set_service(one, actor='operator', forced_down=True)
    for number in range(rounds):
        source, destination = (host, away)[:: -1 if number % 2 else 1]
        move = Move(
            f'req-{uuid.uuid4()}',
            destination,
            'operator',
            overrides=('destination_enabled',),
        )
        planned = NodeMove(node.uuid, source)
        ports.moves.plan(move, [planned])
        (done,) = ports.moves.carry_out(move.request_id, [planned])
        if done.state != 'moved':
            raise RuntimeError(str(done))


def _beats(ports: Ports, host: str, rounds: int) -> None:
    url = ports.database.engine.url.render_as_string(hide_password=False)
    member = heartbeats.DatabaseBackend(
        {'connection': url}, member_ttl=60, call_timeout=60
    )
    member.join(host, 'one', model.MemberSettings())
    for _ in range(rounds):
        member.beat()
    member.close()


_WORKS: dict[str, Work] = {
    'claims and releases': _claims,
    'moves': _moves,
    # They raise no revision: their ratio is the error of the measurement.
    'heartbeats': _beats,
}


def _milliseconds(urls: Sequence[str], work: Work, rounds: int) -> float:
    """Return the time of one write, while three services write."""
    ports = [Ports(connection.open_database(url)) for url in urls]
    run = uuid.uuid4().hex[:8]
    with concurrent.futures.ThreadPoolExecutor(len(_HOSTS)) as threads:
        begun = time.perf_counter()
        for future in [
            threads.submit(
                work, ports[n % len(ports)], f'{host}-{run}', rounds
            )
            for n, host in enumerate(_HOSTS)
        ]:
            future.result()
        seconds = time.perf_counter() - begun
    for one in ports:
        one.database.close()
    return seconds * 1000 / (rounds * len(_HOSTS))


def _compare(
    urls: Sequence[str], work: Work, rounds: int
) -> tuple[float, float]:
    """Return the best of some runs with revisions, and without.

    In turns: what else the machine does disturbs both alike.
    """
    ours, peer = [], []
    for _ in range(_RUNS):
        ours.append(_milliseconds(urls, work, rounds))
        with without_revisions():
            peer.append(_milliseconds(urls, work, rounds))
    return min(ours), min(peer)


def main(argv: list[str] | None = None) -> int:
    """Measure.

    :returns: an exit code: 0 if every target is met, else 1.
    """
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.writers', description=__doc__
    )
    parser.add_argument('--rounds', type=int, default=100)
    rounds = parser.parse_args(argv).rounds
    rows: list[table.Row] = []
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory())
        )
        mariadb.give(directory)
        for name in ('single', 'cluster'):
            (directory / name).mkdir()
        server = mariadb.MariaDB(directory / 'single')
        cluster = galera.Galera(directory / 'cluster')
        stack.callback(server.stop)
        stack.callback(cluster.stop)
        server.start()
        cluster.start()
        single = [server.create_database('writers')]
        nodes = cluster.create_database('writers')
        schema.upgrade(connection.open_database(single[0]))
        schema.upgrade(connection.open_database(nodes[0]))
        for title, urls in (
            ('MariaDB', single),
            ('Galera, one node', nodes[:1]),
            ('Galera, three nodes', nodes),
        ):
            for name, work in _WORKS.items():
                ours, peer = _compare(urls, work, rounds)
                measure = (
                    f'{title}: {name}, {1000 / ours:.0f} a second; without '
                    f'revisions {1000 / peer:.0f}'
                )
                rows.append(table.Row(measure, ours, peer, 'ms', _TARGET))
    return table.show('A write of one of three services', rows)


if __name__ == '__main__':
    sys.exit(main())
