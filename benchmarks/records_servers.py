"""Processor time that services cost each of three Galera nodes.

The operations of services at rest are executed one after the other, through
all nodes in turn, and the processor time of each server is read before and
after. It hardly depends on what else this machine does. The sizes that this
machine cannot hold follow by multiplication; the page about the architecture
shows the arithmetic.

    python -m benchmarks.records_servers [--services 100,300,1000]
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from benchmarks import deployment
from benchmarks.processor_time import of_tree
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db import (
    connection,
    heartbeats,
    records,
    schema,
    tables,
)
from lab import galera

NODES_OF_A_SERVICE = 100
_SETTINGS = model.MemberSettings(
    (model.PolicySettings.of('shard_key', {'shard_key': 'shard-0001'}),)
)
_SCOPE = model.Scope(shard='shard-0001')
_TTL = 1e6

Operation = Callable[[connection.Database], object]


def main(argv: Sequence[str]) -> int:
    """Print a table: milliseconds of processor time of one operation."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--services', default='100,300,1000')
    parser.add_argument('--times', type=int, default=300)
    args = parser.parse_args(argv)
    print('services  operation            busiest server  all servers')
    with deployment.directory() as directory:
        cluster = galera.Galera(directory)
        try:
            cluster.start()
            for services in map(int, args.services.split(',')):
                urls = cluster.create_database(f'services{services}')
                opened = [connection.open_database(url) for url in urls]
                _fill(opened[0], services)
                for node in cluster.nodes:
                    node.applied()
                for name, operation in _operations(opened).items():
                    busiest, every = _cost(
                        cluster, opened, operation, args.times
                    )
                    print(
                        f'{services:8}  {name:20} {busiest:14.2f}  '
                        f'{every:11.2f}',
                        flush=True,
                    )
                for database in opened:
                    database.close()
        finally:
            cluster.stop()
    return 0


def _join(database: connection.Database) -> heartbeats.DatabaseBackend:
    url = database.engine.url.render_as_string(hide_password=False)
    member = heartbeats.DatabaseBackend(
        {'connection': url}, member_ttl=_TTL, call_timeout=60
    )
    member.join('service-0000', 'one', _SETTINGS)
    return member


def _operations(
    opened: Sequence[connection.Database],
) -> dict[str, Operation]:
    members = {database: _join(database) for database in opened}
    numbers = itertools.count()

    def write(database: connection.Database) -> None:
        """Write one node of a service, as a refresh with a change."""
        port = records.SqlRecords(database)
        node = model.Node(f'00000000-0000-0000-0001-{next(numbers):012d}')
        port.apply(
            'service-0000',
            port.service('service-0000').epoch,  # type: ignore[union-attr]
            [Claim(node, reasons.Reason.EXCLUSIVE)],
        )

    return {
        'heartbeat': lambda db: members[db].beat(),
        'own row': lambda db: records.SqlRecords(db).service('service-0000'),
        'members': heartbeats.last,
        'services': lambda db: records.SqlRecords(db).services(),
        'own nodes': lambda db: [
            *records.SqlRecords(db).in_reach('service-0000', _SCOPE)
        ],
        'claim of one node': write,
    }


def _cost(
    cluster: galera.Galera,
    opened: Sequence[connection.Database],
    operation: Operation,
    times: int,
) -> tuple[float, float]:
    turns = itertools.cycle(opened)
    for _ in opened:  # connect, and fill caches
        operation(next(turns))
    pids = [node.pid for node in cluster.nodes]
    before = [of_tree(pid) for pid in pids]
    for _ in range(times):
        operation(next(turns))
    for node in cluster.nodes:
        node.applied()
    spent = [
        (of_tree(pid) - early) * 1000 / times
        for pid, early in zip(pids, before, strict=True)
    ]
    return max(spent), sum(spent)


def _fill(database: connection.Database, services: int) -> None:
    """Write services, members, and the nodes of the first service."""
    schema.upgrade(database)
    port = records.SqlRecords(database)
    epoch = port.register('service-0000', _SETTINGS)
    _join(database).close()
    nodes = [
        model.Node(f'00000000-0000-0000-0000-{n:012d}', shard='shard-0001')
        for n in range(NODES_OF_A_SERVICE)
    ]
    port.apply(
        'service-0000',
        epoch,
        [Claim(node, reasons.Reason.EXCLUSIVE) for node in nodes],
    )
    for table in (tables.services, tables.members):

        def copy(conn: sa.Connection, table: sa.Table = table) -> None:
            first = conn.execute(sa.select(table)).one()._mapping
            conn.execute(
                sa.insert(table),
                [
                    {**first, 'host': f'service-{n:04}'}
                    for n in range(1, services)
                ],
            )

        database.write(copy)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
