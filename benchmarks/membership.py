"""Load of members on their store, and the capacity of one etcd.

Requests: 100 members beat and poll like host processes at the default
intervals; the count of the server is divided by the time. The peer does the
same with tooz's own calls: its heartbeat, and in each poll the members and the
data of each. No request depends on the number of nodes.

Capacity: a thousand members beat and watch one etcd at the default intervals,
all on the machine of the server. The longest time between two beats of any
member is compared with the time to live. In a deployment the members are on
other machines, so this is the worst case.

    python -m benchmarks.membership [--backend etcd ...] [--members 1000]
"""

from __future__ import annotations

import argparse
import math
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import redis
import sqlalchemy as sa
from tooz import coordination

from benchmarks import deployment, membership_held, stores, table
from benchmarks.beating import SETTINGS, TIMING, WATCH_INTERVAL, build, started

MEMBERS = 100
HELD = 1000
SECONDS = 20.0

Counter = Callable[[], float]


def requests(name: str) -> table.Row:
    """Compare the requests of a store's members with the peer's."""
    with deployment.directory() as directory:
        if name == 'db':
            return _database_requests(directory)
        with stores.serving(name, directory) as server:
            return _row(
                name,
                _steady(server.url, COUNTERS[name](server)),
                _naive(server.url, COUNTERS[name](server)),
            )


def _database_requests(directory: pathlib.Path) -> table.Row:
    with deployment.postgresql_in(directory) as server:
        url = server.create_database('members')
        deployment.upgrade(url)
        statements = [0]

        def count(*_: object) -> None:
            statements[0] += 1

        sa.event.listen(sa.Engine, 'before_cursor_execute', count)

        ours = _steady(url, lambda: float(statements[0]))
        # A member that reads each of the others separately.
        polls = MEMBERS / WATCH_INTERVAL * (MEMBERS + 1)
        peer = polls + MEMBERS / TIMING.heartbeat_interval
        return _row('db', ours, peer)


def _row(name: str, ours: float, peer: float) -> table.Row:
    return table.Row(
        f'{name}: requests of {MEMBERS} members', ours, peer, '/s', 0.5
    )


def _steady(url: str, count: Counter) -> float:
    """Return the requests per second of members that have all joined."""
    stopping = threading.Event()
    threads = started(lambda _: build(url), range(MEMBERS), stopping)
    for thread in threads:
        thread.may_poll.set()
    # All have polled once, and watch.
    time.sleep(TIMING.heartbeat_interval * 2)
    before, begun = count(), time.monotonic()
    time.sleep(SECONDS)
    found = (count() - before) / (time.monotonic() - begun)
    stopping.set()
    for thread in threads:
        thread.join()
        if thread.error is not None:
            raise thread.error
    return found


def _naive(url: str, count: Counter) -> float:
    """Return the requests per second of the peer, from one beat and poll."""
    group = b'naive'
    members = []
    for number in range(MEMBERS):
        one = coordination.get_coordinator(
            url, f'member{number}'.encode(), timeout=60
        )
        one.start()
        one.join_group_create(group, {'settings': SETTINGS.to_json()})
        members.append(one)
    asked = members[0]
    before = count()
    asked.heartbeat()
    beat = count() - before
    before = count()
    for member_id in asked.get_members(group).get():
        asked.get_member_capabilities(group, member_id).get()
    poll = count() - before
    for one in members:
        one.stop()
    return MEMBERS * (beat / TIMING.heartbeat_interval + poll / WATCH_INTERVAL)


def _etcd_counter(server: Any) -> Counter:
    def count() -> float:
        return sum(
            float(line.rpartition(' ')[2])
            for line in server.metrics().splitlines()
            if line.startswith('grpc_server_msg_received_total')
            and 'etcdserverpb' in line
        )

    return count


def _redis_counter(server: Any) -> Counter:
    client = redis.Redis(port=server.port)

    def count() -> float:
        return float(client.info('stats')['total_commands_processed'])

    return count


def _zookeeper_counter(server: Any) -> Counter:
    def count() -> float:
        for line in server.ask('mntr').splitlines():
            name, _, value = line.partition('\t')
            if name == 'zk_packets_received':
                return float(value)
        raise ValueError('ZooKeeper does not count')

    return count


COUNTERS: dict[str, Callable[[Any], Counter]] = {
    'etcd': _etcd_counter,
    'redis': _redis_counter,
    'zookeeper': _zookeeper_counter,
}


def held(members: int) -> table.Row:
    """Return the longest time between two beats of any member on one etcd.

    Infinite if members expired; the errors are printed.
    """
    with (
        deployment.directory() as directory,
        stores.serving('etcd', directory) as server,
    ):
        found = membership_held.hold([server.url], members)
    if found.errors:
        errors = '; '.join(found.errors)
        print(f'{members} are too many: {errors}', file=sys.stderr)
    return table.Row(
        f'etcd: {members} members, longest time between two beats, against '
        'the time to live',
        math.inf if found.errors else found.longest,
        TIMING.member_ttl,
        's',
        0.5,
    )


def main(argv: Sequence[str]) -> int:
    """Measure the chosen stores.

    :returns: an exit code: 0 if every target was met, else 1.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument('--backend', action='append', choices=stores.SMALLEST)
    parser.add_argument('--members', type=int, default=HELD)
    args = parser.parse_args(argv)
    names = args.backend or list(stores.SMALLEST)
    rows = [requests(name) for name in names]
    if 'etcd' in names:
        rows.append(held(args.members))
    return table.show('Members and their store', rows)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
