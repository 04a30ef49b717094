"""Take-over time: from the death of a service to its last free node.

Three real host processes share the nodes of a real Ironic by a hash ring. The
records are in PostgreSQL, the membership is in the measured store. One process
after the other is killed with SIGKILL, at a random moment between two
heartbeats. The time ends when the records name another owner for its last free
node. Then the process is started again, and the next round begins when the
records are as before. No peer can run here: instead the target is the time to
live plus two seconds.

    python -m benchmarks.takeover [--backend db ...] [--rounds 20]
                                  [--nodes 10000] [--deployed 0]

Nodes with an instance do not change owner. With ``--deployed 0.3`` three in
ten have one, and the other services read them from Ironic first.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from tooz import hashring

from benchmarks import deployment, stores, table
from lab import enrolment, ironic

AFTER_TTL = 2.0
"""Seconds after the time to live, until the last node is taken over."""

PATIENCE = 600.0
"""Seconds after which a round is given up."""

_HOSTS = ('host1', 'host2', 'host3')
_POLL = 0.1


class Ring(deployment.Services):
    """Three host processes and the records that they share."""

    def free(self) -> dict[str | None, int]:
        """Count the free nodes of each owner."""
        return {
            host: nodes - deployed
            for host, (nodes, deployed) in self.records.counts().items()
            if nodes > deployed
        }

    def wait_until_shared(self, free: int) -> dict[str | None, int]:
        """Wait until every free node has its final owner.

        :returns: the free nodes of each host.
        """
        self._wait_for(lambda: sum(self.free().values()) == free)
        ring = hashring.HashRing(_HOSTS)
        # Owners may change for as long as the first services did not see all.
        final = collections.Counter(
            host
            for node in self.records.compute_nodes()
            if node.instance_uuid is None
            for host in ring.get_nodes(node.uuid.encode())
        )
        return self._wait_for(lambda: self.free() == final)

    def wait_until_taken(self, host: str, free: int) -> None:
        """Wait until a dead host's free nodes are the others'."""

        def taken() -> bool:
            now = self.free()
            return host not in now and sum(now.values()) == free

        self._wait_for(taken)

    def wait_until_again(self, expected: dict[str | None, int]) -> None:
        """Wait until each host has as many free nodes as before."""
        self._wait_for(lambda: self.free() == expected)

    def _wait_for(self, ready: Callable[[], bool]) -> dict[str | None, int]:
        deadline = time.monotonic() + PATIENCE
        while not ready():
            if time.monotonic() > deadline:
                raise SystemExit(
                    f'given up at {self.free()}; see {self._files}'
                )
            time.sleep(_POLL)
        return self.free()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.takeover',
        description='Time how long a dead service keeps its free nodes.',
    )
    parser.add_argument(
        '--backend',
        choices=sorted(stores.SMALLEST),
        action='append',
        help='which store; may be repeated; all of them if not given',
    )
    parser.add_argument(
        '--ttl',
        choices=('default', 'smallest'),
        action='append',
        help='which time to live; both if not given',
    )
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--nodes', type=int, default=10_000)
    parser.add_argument(
        '--deployed',
        type=float,
        default=0.0,
        metavar='SHARE',
        help='the share of the nodes with an instance, 0 to 1',
    )
    args = parser.parse_args(argv)
    rows = []
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(deployment.directory())
        server = stack.enter_context(ironic.Ironic(directory / 'ironic'))
        enrolment.Enrolment(server).enrol(
            args.nodes, instance_share=args.deployed
        )
        database = stack.enter_context(deployment.postgresql_in(directory))
        for backend in args.backend or sorted(stores.SMALLEST):
            files = deployment.subdirectory(directory, backend)
            with stores.serving(backend, files) as store:
                for ttl in args.ttl or ('default', 'smallest'):
                    timing = (
                        stores.Timing()
                        if ttl == 'default'
                        else stores.SMALLEST[backend]
                    )
                    url = database.create_database(f'{backend}_{ttl}')
                    ring = Ring(
                        deployment.subdirectory(files, ttl),
                        *(url, server.endpoint),
                        # Its scans would take the processors from what is
                        # timed.
                        *('[ownership]', 'refresh_interval = 600'),
                        *stores.options(store),
                        *timing.options,
                    )
                    with contextlib.closing(ring):
                        seconds = _measure(ring, timing, args)
                    rows.append(_row(backend, timing, seconds))
    return table.show(
        f'SIGKILL to the last free node taken, {args.nodes} nodes, '
        f'{args.deployed:.0%} deployed, 3 hosts',
        rows,
    )


def _measure(
    ring: Ring, timing: stores.Timing, args: argparse.Namespace
) -> list[float]:
    for host in _HOSTS:
        ring.start(host, 'peer_list')
    free = args.nodes - round(args.nodes * args.deployed)
    shares = ring.wait_until_shared(free)
    seconds = []
    for number in range(args.rounds):
        host = _HOSTS[number % len(_HOSTS)]
        time.sleep(random.uniform(0, timing.heartbeat_interval))
        ring.kill(host)
        killed = time.monotonic()
        ring.wait_until_taken(host, free)
        seconds.append(time.monotonic() - killed)
        print(
            f'{host}: {shares[host]} nodes taken after {seconds[-1]:.2f} s',
            flush=True,
        )
        ring.start(host, 'peer_list')
        ring.wait_until_again(shares)
    return seconds


def _row(
    backend: str, timing: stores.Timing, seconds: Sequence[float]
) -> table.Row:
    return table.Row(
        f'{backend}: worst of {len(seconds)} (median '
        f'{statistics.median(seconds):.2f} s); the peer is the time to live '
        f'of {timing.member_ttl:g} s + {AFTER_TTL:g} s',
        max(seconds),
        timing.member_ttl + AFTER_TTL,
        's',
        1.0,
    )


if __name__ == '__main__':
    sys.exit(main())
