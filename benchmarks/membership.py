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
import multiprocessing
import pathlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pymemcache
import redis
import sqlalchemy as sa
from tooz import coordination

from benchmarks import stores, table
from ironic_ownership.backends import db
from ironic_ownership.backends.tooz import backend as tooz_backend
from ironic_ownership.contracts import backend, capabilities, exceptions, model
from ironic_ownership.db import connection, schema
from lab import postgresql

TIMING = stores.Timing()
WATCH_INTERVAL = 1.0
MEMBERS = 100
HELD = 1000
PROCESSES = 4
SECONDS = 20.0
HELD_SECONDS = 60.0
SPREAD = 180.0

SETTINGS = model.MemberSettings(
    (
        model.PolicySettings.of('shard_key', {'shard_key': 'rack-1'}),
        model.PolicySettings.of('peer_list', {'peer_list': ()}),
    )
)

Counter = Callable[[], float]


class BeatingMember(threading.Thread):
    """One member, with the calls of a host process's heartbeat thread.

    :param phase: seconds to wait before the first beat, so that the beats
        of all members are spread.
    :ivar may_poll: set when all have joined.
    """

    def __init__(
        self,
        member: backend.MembershipBackend,
        phase: float,
        stopping: threading.Event,
    ) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.missed = 0
        self._last = 0.0
        self.error: Exception | None = None
        self._member = member
        self._phase = phase
        self._stopping = stopping
        self.may_poll = threading.Event()
        self._watches = capabilities.Capability.WATCH in member.capabilities

    def run(self) -> None:
        """Beat and poll until told to stop."""
        self._stopping.wait(self._phase)
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                self._beat(started)
                self._poll_until(started + TIMING.heartbeat_interval)
            except exceptions.BackendUnavailableError:
                # Like a host process: the next beat may be in time.
                self.missed += 1
            except Exception as exc:  # noqa: BLE001 - shown in the table
                self.error = exc
                return

    def _beat(self, started: float) -> None:
        self._member.beat()
        if self._last:
            self.longest = max(self.longest, started - self._last)
        self._last = started
        if self.may_poll.is_set():
            self._member.view()

    def _poll_until(self, ends: float) -> None:
        while (left := ends - time.monotonic()) > 0:
            if not self.may_poll.is_set():
                self._stopping.wait(left)
                return
            if not self._watches:
                self._stopping.wait(min(left, WATCH_INTERVAL))
            if self._stopping.is_set():
                return
            if not self._watches or self._member.watch(left):
                self._member.view()


def requests(name: str) -> table.Row:
    """Compare the requests of a store's members with the peer's."""
    with tempfile.TemporaryDirectory(prefix='benchmark-') as path:
        directory = pathlib.Path(path)
        directory.chmod(0o755)
        if name == 'db':
            return _database_requests(directory)
        store = stores.STORES[name](directory)
        assert isinstance(store, stores.Coordination)
        with store:
            server = store.server
            return _row(
                name,
                _steady(lambda: _tooz(server.url), COUNTERS[name](server)),
                _naive(server.url, COUNTERS[name](server)),
            )


def _database_requests(directory: pathlib.Path) -> table.Row:
    server = postgresql.PostgreSQL(directory)
    server.start()
    try:
        url = server.create_database('members')
        with_schema = connection.open_database(url)
        schema.upgrade(with_schema)
        with_schema.close()
        statements = [0]

        def count(*_: object) -> None:
            statements[0] += 1

        sa.event.listen(sa.Engine, 'before_cursor_execute', count)

        def build() -> backend.MembershipBackend:
            return db.DatabaseBackend(
                {'connection': url},
                member_ttl=TIMING.member_ttl,
                call_timeout=TIMING.heartbeat_interval,
            )

        ours = _steady(build, lambda: float(statements[0]))
        # A member that reads each of the others separately.
        polls = MEMBERS / WATCH_INTERVAL * (MEMBERS + 1)
        peer = polls + MEMBERS / TIMING.heartbeat_interval
        return _row('db', ours, peer)
    finally:
        server.stop()


def _row(name: str, ours: float, peer: float) -> table.Row:
    return table.Row(
        f'{name}: requests of {MEMBERS} members', ours, peer, '/s', 0.5
    )


def _steady(
    build: Callable[[], backend.MembershipBackend], count: Counter
) -> float:
    """Return the requests per second of members that have all joined."""
    stopping = threading.Event()
    threads = _started(build, range(MEMBERS), stopping)
    for thread in threads:
        thread.may_poll.set()
    # All have polled once, and watch.
    time.sleep(TIMING.heartbeat_interval * 2)
    before, started = count(), time.monotonic()
    time.sleep(SECONDS)
    found = (count() - before) / (time.monotonic() - started)
    stopping.set()
    for thread in threads:
        thread.join()
        if thread.error is not None:
            raise thread.error
    return found


def _started(
    build: Callable[[], backend.MembershipBackend],
    numbers: Sequence[int],
    stopping: threading.Event,
) -> list[BeatingMember]:
    threads = []
    for number in numbers:
        member = build()
        member.join(f'host{number}', f'{number:032x}', SETTINGS)
        phase = TIMING.heartbeat_interval * (number % 97) / 97
        threads.append(BeatingMember(member, phase, stopping))
        threads[-1].start()
    return threads


def _tooz(url: str) -> tooz_backend.ToozBackend:
    return tooz_backend.ToozBackend(
        {'backend_url': url, 'group': 'benchmark'},
        member_ttl=TIMING.member_ttl,
        call_timeout=TIMING.heartbeat_interval,
    )


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


def _memcached_counter(server: Any) -> Counter:
    client = pymemcache.Client(('127.0.0.1', server.port))

    def count() -> float:
        told = client.stats()
        return float(sum(int(told[f'cmd_{n}'.encode()]) for n in _COMMANDS))

    return count


_COMMANDS = ('get', 'set', 'touch', 'flush')

COUNTERS: dict[str, Callable[[Any], Counter]] = {
    'etcd': _etcd_counter,
    'redis': _redis_counter,
    'zookeeper': _zookeeper_counter,
    'memcached': _memcached_counter,
}


def held(members: int) -> table.Row:
    """Return the longest time between two beats of any member on one etcd.

    Infinite if members expired; the errors are printed.
    """
    with (
        tempfile.TemporaryDirectory(prefix='benchmark-') as path,
        stores.Etcd(pathlib.Path(path)) as store,
    ):
        context = multiprocessing.get_context('spawn')
        joined = context.Barrier(PROCESSES)
        answers = context.Queue()
        processes = [
            context.Process(
                target=_hold,
                args=(
                    store.server.url,
                    range(number, members, PROCESSES),
                    joined,
                    answers,
                ),
            )
            for number in range(PROCESSES)
        ]
        for process in processes:
            process.start()
        found = [answers.get() for _ in processes]
        for process in processes:
            process.join()
    errors = sorted({error for _, error in found if error})
    if errors:
        print(f'{members} are too many: {"; ".join(errors)}', file=sys.stderr)
    return table.Row(
        f'etcd: {members} members, longest time between two beats, against '
        'the time to live',
        math.inf if errors else max(longest for longest, _ in found),
        TIMING.member_ttl,
        's',
        0.5,
    )


def _hold(url: str, numbers: Sequence[int], joined: Any, answers: Any) -> None:
    stopping = threading.Event()
    try:
        threads = _started(lambda: _tooz(url), numbers, stopping)
        joined.wait()
        for thread in threads:
            # The first poll reads all members: one after the other, like
            # processes that start.
            thread.may_poll.set()
            time.sleep(SPREAD / len(threads))
        time.sleep(TIMING.heartbeat_interval * 4)
        for thread in threads:
            thread.longest = 0.0
        time.sleep(HELD_SECONDS)
        stopping.set()
        errors = [str(t.error) for t in threads if t.error is not None]
        answers.put((max(t.longest for t in threads), ''.join(errors[:1])))
    except Exception as exc:  # noqa: BLE001 - raised by the parent
        joined.abort()
        answers.put((0.0, repr(exc)))


def main(argv: Sequence[str]) -> int:
    """Measure the chosen stores.

    :returns: an exit code: 0 if every target was met, else 1.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument('--backend', action='append', choices=stores.STORES)
    parser.add_argument('--members', type=int, default=HELD)
    args = parser.parse_args(argv)
    names = args.backend or list(stores.STORES)
    rows = [requests(name) for name in names]
    if 'etcd' in names:
        rows.append(held(args.members))
    return table.show('Members and their store', rows)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
