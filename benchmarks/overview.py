"""The overview, and the list of all nodes for the console, over real HTTP.

The records are in MariaDB, and the HTTP service is a process of its own. No
Ironic answers: neither needs one.

    python -m benchmarks.overview [--nodes 100000] [--rounds 5]

The console reads all nodes at most once in ten times as long as that takes.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence

from benchmarks import deployment, processor_time, table
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db import connection, records, schema
from ironic_ownership.db.heartbeats import DatabaseBackend
from ironic_ownership_console.fleet import Fleet
from ironic_ownership_console.service import Service
from lab import mariadb, process

_SERVICES = 20
_BATCH = 1000
_TTL = 86_400
_SECONDS = 1.0
"""Within which the overview has to answer."""

_ALL = 10.0
"""Seconds within which the console has to have all nodes."""

_REST = 5.0
"""Seconds without work after which the servers are at rest."""

_SETTINGS = model.MemberSettings((model.PolicySettings.of('all', {}),))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.overview',
        description='Read the overview and all nodes over HTTP.',
    )
    parser.add_argument('--nodes', type=int, default=100_000)
    parser.add_argument('--rounds', type=int, default=5)
    args = parser.parse_args(argv)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(deployment.directory())
        server = mariadb.MariaDB(directory)
        server.start()
        stack.callback(server.stop)
        url = server.create_database('overview')
        stack.enter_context(_filled(url, args.nodes))
        port = process.free_port()
        config = directory / 'api.conf'
        config.write_text(
            f'[DEFAULT]\nhost = operator\n[database]\nconnection = {url}\n'
            f'[membership]\nmember_ttl = {_TTL}\n'
            '[ownership]\npolicies = all\n[ironic]\nauth_type = none\n'
            'endpoint_override = http://127.0.0.1:1\n'
            f'[api]\nauth_strategy = noauth\nport = {port}\n'
            f'metrics_interval = {_TTL}\n'
        )
        api = process.Process(
            [*deployment.program('api'), '--config-file', str(config)],
            directory / 'api.log',
        ).start()
        stack.callback(api.stop)
        process.wait_for(lambda: process.answers_tcp(port), 'the service')
        return table.show(
            f'overview: {args.nodes} records in MariaDB, over HTTP',
            [*_rows(f'http://127.0.0.1:{port}', (api.pid, server.pid), args)],
        )


@contextlib.contextmanager
def _filled(url: str, nodes: int) -> Iterator[None]:
    """Fill the records; all services are alive until the end."""
    database = connection.open_database(url)
    schema.upgrade(database)
    port = records.SqlRecords(database)
    with contextlib.ExitStack() as stack:
        stack.callback(database.close)
        for number in range(_SERVICES):
            host = f'rack{number}'
            member = DatabaseBackend(
                {'connection': url}, member_ttl=_TTL, call_timeout=30
            )
            stack.callback(member.close)
            member.join(host, f'process-{number}', _SETTINGS)
            epoch = port.register(
                host, _SETTINGS, incarnation=f'process-{number}'
            )
            own = range(number, nodes, _SERVICES)
            for start in range(0, len(own), _BATCH):
                port.apply(
                    host,
                    epoch,
                    [
                        Claim(_node(one), reasons.Reason.EXCLUSIVE)
                        for one in own[start:][:_BATCH]
                    ],
                )
        yield


def _node(number: int) -> model.Node:
    return model.Node(
        f'{number:08x}-0000-4000-8000-000000000000',
        name=f'rack{number % _SERVICES}-node{number}',
        shard=f'shard{number % _SERVICES}',
        conductor_group='east' if number % 2 else 'west',
        instance_uuid=(
            f'{number:08x}-0000-4000-9000-000000000000' if number % 3 else None
        ),
        provision_state='active' if number % 3 else 'available',
    )


def _rows(
    url: str, pids: Sequence[int | None], args: argparse.Namespace
) -> Iterator[table.Row]:
    def overview() -> None:
        with urllib.request.urlopen(f'{url}/v1/overview') as answer:
            answer.read()

    def everything() -> None:
        found = Fleet(Service(url)).read('')
        if len(found.nodes) != args.nodes:
            raise SystemExit(f'{len(found.nodes)} of {args.nodes} nodes')

    for what, work, bound in (
        ('the overview', overview, _SECONDS),
        ('all nodes, as the console reads them', everything, _ALL),
    ):
        work()  # connect, and fill caches
        _rest(pids)
        runs = [_cost(work, pids) for _ in range(args.rounds)]
        wall, own, service, database = map(
            statistics.median, zip(*runs, strict=True)
        )
        yield table.Row(f'{what}; peer: the target', wall, bound, 's', 1.0)
        yield table.Row(
            f'{what}: processor time of client and service; peer: of MariaDB',
            *(own + service, database, 's', math.inf),
        )


def _rest(pids: Sequence[int | None]) -> None:
    """Wait for the end of the check in the background, which needs Ironic."""
    before = None
    while before != (used := [*map(processor_time.of_tree, pids)]):
        before = used
        time.sleep(_REST)


def _cost(
    work: Callable[[], None], pids: Sequence[int | None]
) -> tuple[float, ...]:
    """Return seconds, and those of processor time here and of processes."""
    before, began = [*map(processor_time.of_tree, pids)], time.perf_counter()
    own, _ = table.timed(work)
    wall = time.perf_counter() - began
    after = map(processor_time.of_tree, pids)
    return wall, own, *(b - a for a, b in zip(before, after, strict=True))


if __name__ == '__main__':
    sys.exit(main())
