"""Members that a machine of two processors can hold, with their store.

Members in several processes join three servers of their store, beat and poll
at the default intervals, all on this machine. After all of them have polled,
the processor time of the servers and of the members is read for a minute, and
heartbeats that came late are counted: by more than an interval. A store with
its members is held if there is none.

In a deployment the members are on other machines, so this is the worst case.

    python -m benchmarks.membership_held --store etcd --members 300,500
    python -m benchmarks.membership_held --store galera --members 100,300
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import multiprocessing
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks import beating, deployment
from benchmarks.processor_time import of_tree
from lab import cluster, etcd, galera, zookeeper

PROCESSES = 4
SPREAD = 0.18
"""Seconds a member: the first poll reads all members, so members start one
after the other, as processes do."""

SECONDS = 60.0
GALERA = 'galera'
CLUSTERS: Mapping[str, Callable[[pathlib.Path], cluster.Cluster[Any]]] = {
    'etcd': etcd.Cluster,
    'zookeeper': zookeeper.Cluster,
}


@dataclasses.dataclass(frozen=True)
class Counts:
    """Counts of some members.

    :param error: the first one that ended a member; empty without one.
    """

    longest: float = 0.0
    beats: int = 0
    late: int = 0
    missed: int = 0
    error: str = ''


@dataclasses.dataclass(frozen=True)
class Held:
    """Observations of all members and their store.

    :param servers: processor time of each server in a second, in seconds.
    :param clients: the same of all members.
    """

    counts: Sequence[Counts]
    servers: Sequence[float]
    clients: float

    @property
    def longest(self) -> float:
        """Seconds between the starts of two beats of one member, at most."""
        return max(one.longest for one in self.counts)

    @property
    def errors(self) -> list[str]:
        """Errors that ended members."""
        return sorted({one.error for one in self.counts if one.error})

    def sum(self, name: str) -> int:
        """Return the sum of one of the counts."""
        return sum(getattr(one, name) for one in self.counts)


def hold(
    urls: Sequence[str], members: int, pids: Sequence[int | None] = ()
) -> Held:
    """Let members live in processes of their own, and measure for a minute.

    :param urls: of the store; members take turns.
    :param pids: of the servers.
    """
    context = multiprocessing.get_context('spawn')
    # With this process: all have joined, the measurement begins, it ends.
    together = context.Barrier(PROCESSES + 1)
    answers = context.Queue()
    processes = [
        context.Process(
            target=_live,
            args=(urls, range(number, members, PROCESSES), together, answers),
        )
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    measured = [*pids, *(process.pid for process in processes)]
    times = [0.0] * len(measured)
    with contextlib.suppress(threading.BrokenBarrierError):
        together.wait()
        together.wait()
        before, begun = list(map(of_tree, measured)), time.monotonic()
        time.sleep(SECONDS)
        after, seconds = list(map(of_tree, measured)), time.monotonic()
        times = [
            (late - early) / (seconds - begun)
            for early, late in zip(before, after, strict=True)
        ]
        together.wait()
    counts = [answers.get() for _ in processes]
    for process in processes:
        process.join()
    return Held(counts, times[: len(pids)], sum(times[len(pids) :]))


def _live(
    urls: Sequence[str], numbers: Sequence[int], together: Any, answers: Any
) -> None:
    stopping = threading.Event()
    try:
        threads = beating.started(
            lambda number: beating.build(urls[number % len(urls)]),
            numbers,
            stopping,
        )
        together.wait()
        for thread in threads:
            thread.may_poll.set()
            time.sleep(SPREAD * PROCESSES)
        time.sleep(beating.TIMING.heartbeat_interval * 4)
        together.wait()
        for thread in threads:
            thread.reset()
        together.wait()
        stopping.set()
        answers.put(_counted(threads))
    except Exception as exc:  # noqa: BLE001 - shown by the parent
        together.abort()
        answers.put(Counts(error=repr(exc)))


def _counted(threads: Sequence[beating.BeatingMember]) -> Counts:
    errors = [str(t.error) for t in threads if t.error is not None]
    return Counts(
        max(t.longest for t in threads),
        sum(t.beats for t in threads),
        sum(t.late for t in threads),
        sum(t.missed for t in threads),
        ''.join(errors[:1]),
    )


@contextlib.contextmanager
def serving(store: str) -> Iterator[tuple[list[str], list[int | None]]]:
    """Start three servers; yield their URLs and process ids."""
    with deployment.directory() as path:
        of = _galera if store == GALERA else _cluster(CLUSTERS[store])
        with of(path) as found:
            yield found


def _cluster(
    kind: Callable[[pathlib.Path], cluster.Cluster[Any]],
) -> Callable[[pathlib.Path], Any]:
    @contextlib.contextmanager
    def started(
        directory: pathlib.Path,
    ) -> Iterator[tuple[list[str], list[int | None]]]:
        servers = kind(directory)
        # Without the network in between, which has costs of its own.
        url = servers.url
        for server, port in zip(servers.servers, servers.ports, strict=True):
            url = url.replace(f':{port}', f':{server.port}')
        try:
            servers.start()
            yield [url], [server.pid for server in servers.servers]
        finally:
            servers.close()

    return started


@contextlib.contextmanager
def _galera(
    directory: pathlib.Path,
) -> Iterator[tuple[list[str], list[int | None]]]:
    servers = galera.Galera(directory)
    try:
        servers.start()
        urls = servers.create_database('members')
        deployment.upgrade(urls[0])
        for node in servers.nodes:
            # Each member has a connection, and the default is 151.
            node.query('SET GLOBAL max_connections = 2000')
        yield urls, [node.pid for node in servers.nodes]
    finally:
        servers.stop()


def main(argv: Sequence[str]) -> int:
    """Print a table: milliseconds of processor time in a second, and beats.

    :returns: an exit code: 0 if no member was lost, else 1.
    """
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.membership_held', description=__doc__
    )
    parser.add_argument(
        '--store',
        action='append',
        choices=(*CLUSTERS, GALERA),
    )
    parser.add_argument('--members', default='100,300')
    args = parser.parse_args(argv)
    print(
        'store      members  busiest server  all servers  one member  '
        'processors   beats   late  missed  longest s'
    )
    lost = False
    for store in args.store or ('etcd', GALERA):
        for members in map(int, args.members.split(',')):
            with serving(store) as (urls, pids):
                found = hold(urls, members, pids)
            print(_line(store, members, found), flush=True)
            for error in found.errors:
                print(f'    {error}')
                lost = True
    return 1 if lost else 0


def _line(store: str, members: int, found: Held) -> str:
    every = sum(found.servers)
    return (
        f'{store:10} {members:7}  {max(found.servers) * 1000:14.1f}  '
        f'{every * 1000:11.1f}  {found.clients * 1000 / members:10.2f}  '
        f'{every + found.clients:10.2f}  {found.sum("beats"):6}  '
        f'{found.sum("late"):5}  {found.sum("missed"):6}  '
        f'{found.longest:9.1f}'
    )


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
