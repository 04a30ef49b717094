"""Concurrent reservations, against plain calls of the allocation API.

Fifty concurrent requests, for ten services, over 1,000 nodes of a real Ironic.
Its database and that of the records are on one MariaDB. The peer is the same
client with the same number of allocations, each with candidates that were
chosen before: the time of Ironic alone, with its polling interval. Both wait
until every allocation is settled, in one thread per request, with connections
that are open already, like the threads of a server. All requests go through
one process, like those of the HTTP service, which scans Ironic once for all of
them. The figure below the table, without a target, is for one process per
service, each with its own scan. No node may be reserved twice. Ironic, the
database and this process share the machine, so the fastest of several rounds
counts.

    python -m benchmarks.reserve [--requests 50] [--nodes 1000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import itertools
import pathlib
import random
import sys
import threading
import time
import uuid as uuid_
from collections.abc import Callable, Sequence

import sqlalchemy as sa
import tenacity

from benchmarks import deployment, table
from ironic_ownership import wiring
from ironic_ownership.clients import options
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import events, exceptions, model, reservations
from ironic_ownership.contracts.reservations import Request
from ironic_ownership.db import heartbeats as backend_db
from ironic_ownership.engine.ports import Allocations
from ironic_ownership.engine.reservations import reserver
from lab import conductors, mariadb

RATIO = 1.2
SERVICES = 10
CANDIDATES = 10

_CLASS = 'baremetal'
_SETTINGS = model.MemberSettings(
    (model.PolicySettings.of('reservation', {'fallback': '', 'expiry': 3600}),)
)


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds until all requests had a node."""

    bare: float
    ours: float
    apart: float


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the target is met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.reserve',
        description='Reserve nodes of a real Ironic at once.',
    )
    parser.add_argument('--requests', type=int, default=50)
    parser.add_argument('--nodes', type=int, default=1000)
    parser.add_argument('--rounds', type=int, default=3)
    args = parser.parse_args(argv)
    with deployment.directory() as directory:
        database = mariadb.MariaDB(
            deployment.subdirectory(directory, 'mariadb')
        )
        database.start()
        try:
            rounds = _measure_all(
                directory, database, args.nodes, args.requests, args.rounds
            )
        finally:
            database.stop()
    return _show(rounds, args.requests, args.nodes)


def _measure_all(
    directory: pathlib.Path,
    database: mariadb.MariaDB,
    nodes: int,
    requests: int,
    rounds: int,
) -> list[Timing]:
    files = deployment.subdirectory(directory, 'ironic')
    url = database.create_database('ironic')
    with conductors.Conductors(files, url) as server:
        server.add('fake-hardware')
        uuids = _enrol(server, url, nodes)
        records = database.create_database('records')
        deployment.upgrade(records)
        config = directory / 'benchmark.conf'
        config.write_text(
            deployment.configuration(
                *('benchmark', 'reservation', records, server.endpoint),
                *('[database]', 'max_pool_size = 50'),
                # No member beats here.
                *('[membership]', 'member_ttl = 3600'),
            )
        )
        return _measure(config, uuids, requests, rounds)


def _enrol(
    server: conductors.Conductors, url: str, count: int
) -> Sequence[str]:
    """Make one node available, and copy its row for the others."""
    first = str(
        server.request(
            'POST',
            '/nodes',
            json={'driver': 'fake-hardware', 'resource_class': _CLASS},
        )['uuid']
    )
    for kind, target, field, value in (
        ('provision', 'manage', 'provision_state', 'manageable'),
        ('provision', 'provide', 'provision_state', 'available'),
        ('power', 'power off', 'power_state', 'power off'),
    ):
        server.request(
            'PUT', f'/nodes/{first}/states/{kind}', json={'target': target}
        )
        node: dict[str, object] = {}
        while node.get(field) != value or node.get('reservation'):
            time.sleep(0.1)
            node = server.request('GET', f'/nodes/{first}')
    uuids = [first, *(str(uuid_.uuid4()) for _ in range(count - 1))]
    opened = sa.create_engine(url)
    nodes = sa.Table('nodes', sa.MetaData(), autoload_with=opened)
    with opened.begin() as conn:
        row = dict(conn.execute(sa.select(nodes)).one()._mapping)
        del row['id']
        conn.execute(
            sa.insert(nodes), [{**row, 'uuid': uuid} for uuid in uuids[1:]]
        )
    opened.dispose()
    return uuids


def _measure(
    config: pathlib.Path, nodes: Sequence[str], count: int, rounds: int
) -> list[Timing]:
    wired = wiring.Wiring(new(['--config-file', str(config)], 'bench'))
    records = wired.records
    hosts = [f'host{number}' for number in range(SERVICES)]
    backends = []
    for host in hosts:
        member = backend_db.DatabaseBackend(
            {'connection': wired.conf.database.connection},
            member_ttl=3600,
            call_timeout=30,
        )
        member.join(host, f'incarnation-of-{host}', _SETTINGS)
        backends.append(member)
        records.register(host, _SETTINGS, incarnation=f'incarnation-of-{host}')
    threads = ClientThreads(count)
    opened = [options.open_allocations(wired.conf) for _ in range(count)]
    one = [wired.new_reserver()]
    many = [wired.new_reserver() for _ in range(SERVICES)]
    try:
        measured = [
            Timing(
                _bare(threads, opened, nodes),
                _ours(threads, one, hosts),
                _ours(threads, many, hosts),
            )
            for _ in range(rounds + 1)
        ]
        return measured[1:]
    finally:
        threads.pool.shutdown()
        for member in backends:
            member.close()
        wired.close()


class ClientThreads:
    """One thread for each request, for the whole run.

    :ivar pool: the threads.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.pool = concurrent.futures.ThreadPoolExecutor(count)
        self._start = threading.Barrier(count + 1)
        # A thread always has the same number, and so its connections.
        self._mine, self._numbers = threading.local(), itertools.count()

    def run_concurrently(self, work: Callable[[int], str]) -> float:
        """Run some work in every thread; return the seconds for all of them.

        :param work: returns the uuid of a node, different in each thread.
        """

        def start() -> str:
            if not hasattr(self._mine, 'number'):
                self._mine.number = next(self._numbers)
            self._start.wait()
            return work(self._mine.number)

        running = [self.pool.submit(start) for _ in range(self.count)]
        self._start.wait()
        started = time.perf_counter()
        found = [one.result() for one in running]
        seconds = time.perf_counter() - started
        if len(set(found)) != self.count:
            raise SystemExit('a node was reserved twice')
        return seconds


def _bare(
    threads: ClientThreads,
    opened: Sequence[Allocations],
    nodes: Sequence[str],
) -> float:
    """Allocate nodes, each among its own candidates."""
    instances = [str(uuid_.uuid4()) for _ in opened]
    most = min(threads.count * CANDIDATES, len(nodes))
    drawn = random.sample(list(nodes), most)
    share = most // threads.count

    # Every client of Ironic does this: the server closes idle connections.
    @tenacity.retry(
        retry=tenacity.retry_if_exception_type(
            exceptions.IronicUnavailableError
        ),
        stop=tenacity.stop_after_attempt(5),
        wait=tenacity.wait_fixed(0.1),
        reraise=True,
    )
    def allocate(number: int) -> str:
        made = opened[number].create(
            instances[number],
            resource_class=_CLASS,
            candidates=drawn[number * share : (number + 1) * share],
            owner='benchmark',
        )
        if made.state is not reservations.AllocationState.ACTIVE:
            raise SystemExit(f'not allocated: {made}')
        return str(made.node_uuid)

    seconds = threads.run_concurrently(allocate)
    for client, instance in zip(opened, instances, strict=True):
        client.delete(instance)
    return seconds


def _ours(
    threads: ClientThreads,
    reservers: Sequence[reserver.Reserver],
    hosts: Sequence[str],
) -> float:
    """Reserve nodes for all services."""
    wanted = [
        Request(
            str(uuid_.uuid4()),
            hosts[number % len(hosts)],
            resource_class=_CLASS,
        )
        for number in range(threads.count)
    ]

    def reserver_of(number: int) -> reserver.Reserver:
        return reservers[number % len(reservers)]

    def reserve(number: int) -> str:
        made = reserver_of(number).create(
            wanted[number], origin=events.Origin('benchmark')
        )
        return str(made.node_uuid)

    seconds = threads.run_concurrently(reserve)
    for number, one in enumerate(wanted):
        reserver_of(number).delete(
            one.instance_uuid, origin=events.Origin('benchmark')
        )
    return seconds


def _show(rounds: Sequence[Timing], count: int, nodes: int) -> int:
    bare = min(one.bare for one in rounds)
    code = table.show(
        'Concurrent reservations, a real Ironic',
        [
            table.Row(
                f'seconds for {count} at once over {nodes} nodes, '
                f'{SERVICES} services; the peer is the bare calls',
                min(one.ours for one in rounds),
                bare,
                's',
                RATIO,
            )
        ],
    )
    apart = min(one.apart for one in rounds)
    print(
        f'no node was reserved twice; from {SERVICES} processes with a scan '
        f'each: {apart:.2f} s, {apart / bare:.2f} times'
    )
    for one in rounds:
        print(
            f'round: bare {one.bare:.2f} s, ours {one.ours:.2f} s, apart '
            f'{one.apart:.2f} s'
        )
    return code


if __name__ == '__main__':
    sys.exit(main())
