"""Processor time that members cost each of three servers of their store.

Members beat, watch and poll like host processes at the default intervals. The
processor time of each server is read before and after: unlike the longest
time between two beats, it does not depend on what else this machine does. So
the sizes that this machine cannot hold follow from it by multiplication; the
page about the architecture shows the arithmetic.

    python -m benchmarks.membership_servers [--backend etcd] [--members 50,100]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks import beating
from lab import cluster, etcd, zookeeper

CLUSTERS: dict[str, Callable[[pathlib.Path], cluster.Cluster[Any]]] = {
    'etcd': etcd.Cluster,
    'zookeeper': zookeeper.Cluster,
}
SECONDS = 20.0
_TICKS = os.sysconf('SC_CLK_TCK')


def costs(name: str, members: int) -> tuple[float, float, float]:
    """Measure the processor time of a second, in milliseconds.

    :returns: of the busiest server, of all servers, and of one member.
    """
    with (
        tempfile.TemporaryDirectory(prefix='benchmark-') as path,
        serving(name, pathlib.Path(path)) as (url, pids),
    ):
        return _measured(url, pids, members)


@contextlib.contextmanager
def serving(
    name: str, directory: pathlib.Path
) -> Iterator[tuple[str, list[int | None]]]:
    """Start three servers; yield their URL and their process ids."""
    store = CLUSTERS[name](directory)
    # Without the network in between, which has costs of its own.
    url = store.url
    for server, port in zip(store.servers, store.ports, strict=True):
        url = url.replace(f':{port}', f':{server.port}')
    try:
        store.start()
        yield url, [server.pid for server in store.servers]
    finally:
        store.close()


def _measured(
    url: str, pids: Sequence[int | None], members: int
) -> tuple[float, float, float]:
    stopping = threading.Event()
    threads = beating.started(
        lambda _: beating.build(url), range(members), stopping
    )
    for thread in threads:
        thread.may_poll.set()
    time.sleep(beating.TIMING.heartbeat_interval * 2)
    before = [cpu_seconds(pid) for pid in [*pids, os.getpid()]]
    started = time.monotonic()
    time.sleep(SECONDS)
    seconds = time.monotonic() - started
    after = [cpu_seconds(pid) for pid in [*pids, os.getpid()]]
    stopping.set()
    for thread in threads:
        thread.join()
        # Clients of servers that are gone would go on trying.
        thread.close()
        if thread.error is not None:
            raise thread.error
    *servers, own = [
        (late - early) / seconds * 1000
        for late, early in zip(after, before, strict=True)
    ]
    return max(servers), sum(servers), own / members


def cpu_seconds(pid: int | None) -> float:
    """Return the processor time that a process has used, in seconds."""
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / _TICKS


def main(argv: Sequence[str]) -> int:
    """Print a table: milliseconds of processor time in a second."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--backend', action='append', choices=CLUSTERS)
    parser.add_argument('--members', default='50,100,200')
    args = parser.parse_args(argv)
    print('store       members  busiest server  all servers  one member')
    for name in args.backend or CLUSTERS:
        for members in map(int, args.members.split(',')):
            busiest, every, own = costs(name, members)
            print(
                f'{name:10}  {members:7}  {busiest:14.1f}  {every:11.1f}  '
                f'{own:10.2f}',
                flush=True,
            )
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
