"""Costs of changes of many nodes at once, with ten services and a real Ironic.

A third of the nodes is deployed on one service; the others are shared by a
hash ring. Then, one after the other: nodes are enrolled, a service dies, a
service joins, a shard is renamed and its nodes are moved, nodes are retired,
and the first service is stopped and drained. The service dies while the others
are at rest: they have read what changed before. Intervals and limits are the
defaults, the records and the members are in PostgreSQL. A step ends when the
records are as they have to be.

    python -m benchmarks.bulk [--nodes 100000] [--services 10]

Nodes are written into and deleted from Ironic's database, where its API would
need hours; each with the time that Ironic would write. The longest time
between two heartbeats of a living service is that of all services in a step;
its peer is the time to live less the fence margin: beyond it, a service stops
to act. A service that had to register again is an error.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from tooz import hashring

from benchmarks import deployment, processor_time, stores, table
from ironic_ownership.contracts.events import EventFilter, EventKind
from ironic_ownership.db import connection, heartbeats
from lab import enrolment, ironic

_TIMING = stores.Timing()
_LIMIT = 3600.0
"""Seconds after which a step is given up."""

_OBSERVED, _BUSY = 90.0, 0.1
"""Seconds, more than a refresh interval; and the processor time that an Ironic
at rest uses at most in each of them."""

_OWNER = 'host1'
"""The service with all deployed nodes, which is drained."""

_OLD, _NEW = 'old', 'new'
"""Shards: the latter is the former's new name."""

_DIES = 'dies'
_ENROLLED = 'nodes are enrolled'
_EACH = 0.01
"""Seconds of Ironic's processor time for a node that is enrolled."""


@dataclasses.dataclass(frozen=True)
class Cost:
    """Cost of one step.

    :param seconds: until the records were as they had to be.
    :param gap: the longest time between two heartbeats of one service.
    :param services: seconds of processor time of all services.
    :param ironic: the same, of Ironic.
    """

    step: str
    seconds: float
    gap: float
    services: float
    ironic: float


class Heartbeats:
    """Observer of the heartbeats of all services, in a thread."""

    def __init__(self, database: connection.Database) -> None:
        self._database = database
        self._stopping = threading.Event()
        self._last: dict[str, float] = {}
        self._longest = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def longest(self) -> float:
        """Return the longest time between two since the last call."""
        longest, self._longest = self._longest, 0.0
        return longest

    def _run(self) -> None:
        while not self._stopping.wait(0.5):
            for beat in heartbeats.last(self._database):
                if beat.left > 0:
                    key, at = beat.member.incarnation, beat.expires_at
                    gap = at - self._last.get(key, at)
                    self._longest = max(self._longest, gap)
                    self._last[key] = at


class Deployment(deployment.Services):
    """Services that share one database, and commands of operators."""

    def operate(self, *words: str) -> None:
        """Carry out a command, and show what it shows at its end."""
        path = self.configure('operator', 'all')
        done = subprocess.run(
            [*deployment.program('cli'), '--config-file', str(path), *words],
            check=False,
            capture_output=True,
            text=True,
        )
        shown = (done.stdout + done.stderr).splitlines()
        print(f'  {" ".join(words)}: {shown[-1] if shown else ""}', flush=True)
        if done.returncode:
            raise SystemExit(f'{words} failed: {done.stderr[-2000:]}')

    def counts(self) -> dict[str | None, int]:
        """Return the number of nodes of each owner."""
        found = self.records.counts().items()
        return {host: nodes for host, (nodes, _) in found if nodes}

    def registrations(self) -> int:
        """Return how often services registered."""
        chosen = EventFilter(kinds=(EventKind.SERVICE_REGISTERED,))
        return len(self.records.events(chosen, limit=10_000))


class Bench:
    """The steps of one run, and what each has cost.

    :param ring: the deployment of all nodes.
    :param shards: another one, of the nodes in a shard.
    """

    def __init__(
        self,
        nodes: enrolment.Enrolment,
        ring: Deployment,
        shards: Deployment,
        observer: Heartbeats,
    ) -> None:
        self._nodes, self._ring, self._shards = nodes, ring, shards
        self._observer = observer
        self.costs: list[Cost] = []
        self.deployed: list[str] = []
        self.free: list[str] = []
        self.hosts: list[str] = []

    def run(self, deployed: int, free: int, many: int, services: int) -> None:
        """Carry out all steps.

        :param deployed: nodes of the service that is drained.
        :param free: nodes of all services, ``many`` of them in bulk.
        """
        few = min(services, round(free / many))
        self.deployed = self._nodes.enrol(deployed, instance_share=1.0)
        self._step(f'first pass, {deployed} nodes', lambda: self._join(1))
        self.free = self._nodes.enrol(free - many)
        self._step(
            f'{len(self.free)} free nodes, {few} services',
            lambda: self._join(few),
        )
        self._step(f'{many} {_ENROLLED}', lambda: self._enrol(many))
        self._rest()
        dead = self.hosts[-1]
        share = self._expected()[dead]
        self._step(
            f'service of {share} free nodes {_DIES}', lambda: self._die(dead)
        )
        self._step(f'{services} services', lambda: self._join(services))
        self._step(
            f'from {services} to {services + 1} services',
            lambda: self._join(services + 1),
        )
        for host, shard in (('a', _OLD), ('b', _NEW)):
            self._shards.start(host, 'shard_key', f'shard = {shard}')
        sharded = self.free[:many]
        self._nodes.set_shards(sharded, _OLD)
        self._until(lambda: self._shards.counts() == {'a': many})
        self._step(
            f'shard of {many} nodes is renamed',
            lambda: self._rename(sharded),
            lambda: self._shards.counts() == {'b': many},
        )
        self._step(f'{many} nodes are retired', lambda: self._retire(many))
        left = self.deployed + self.free
        self._step(
            f'service of {deployed} deployed nodes is drained',
            self._drain,
            lambda: self._are_on_others(len(left)),
        )

    def _step(
        self,
        name: str,
        begin: Callable[[], object],
        ready: Callable[[], bool] | None = None,
    ) -> None:
        ring, before = self._ring, set(self.hosts)
        registered, ours = ring.registrations(), self._cpu()
        theirs = processor_time.of_tree(self._nodes.server.pid)
        self._observer.longest()
        began = time.monotonic()
        begin()
        expected = self._expected()
        self._until(ready or (lambda: ring.counts() == expected))
        cost = Cost(
            name,
            time.monotonic() - began,
            self._observer.longest(),
            self._cpu() - ours,
            processor_time.of_tree(self._nodes.server.pid) - theirs,
        )
        joined = len(set(self.hosts) - before)
        again = ring.registrations() - registered - joined
        if again:
            raise SystemExit(f'{name}: services registered again: {again}')
        self.costs.append(cost)
        print(
            f'{name}: {cost.seconds:.1f} s, longest between heartbeats '
            f'{cost.gap:.1f} s, CPU of services {cost.services:.1f} s, of '
            f'Ironic {cost.ironic:.1f} s',
            flush=True,
        )

    def _are_on_others(self, count: int) -> bool:
        counts = self._ring.counts()
        return _OWNER not in counts and sum(counts.values()) == count

    def _until(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _LIMIT
        while not ready():
            if time.monotonic() > deadline:
                raise SystemExit(f'given up at {self._ring.counts()}')
            time.sleep(0.5)

    def _rest(self) -> None:
        """Wait until every service has read what changed, and Ironic rests."""
        pid = self._nodes.server.pid
        deadline = time.monotonic() + _LIMIT
        used = -math.inf
        while processor_time.of_tree(pid) - used > _BUSY * _OBSERVED:
            if time.monotonic() > deadline:
                raise SystemExit('Ironic never rests')
            used = processor_time.of_tree(pid)
            time.sleep(_OBSERVED)

    def _cpu(self) -> float:
        return self._ring.cpu() + self._shards.cpu()

    def _expected(self) -> dict[str | None, int]:
        """Return the number of nodes of each service, by Nova's ring."""
        ring = hashring.HashRing(self.hosts)
        found: collections.Counter[str | None] = collections.Counter()
        for uuid in self.free:
            found.update(ring.get_nodes(uuid.encode()))
        found[_OWNER] += len(self.deployed)
        return dict(found)

    def _join(self, count: int) -> None:
        for number in range(1, count + 1):
            host = f'host{number}'
            if host not in self.hosts:
                self._ring.start(host, 'peer_list')
                self.hosts.append(host)

    def _enrol(self, count: int) -> None:
        self.free += self._nodes.enrol(count, prefix='more')

    def _die(self, host: str) -> None:
        self._ring.kill(host)
        self.hosts.remove(host)

    def _rename(self, uuids: Sequence[str]) -> None:
        self._nodes.set_shards(uuids, _NEW)
        # A service keeps the nodes that leave its scope: an operator moves
        # them.
        self._shards.operate(
            *('compute', 'node', 'move', '--from', 'a', '--shard', _NEW),
            *('--service', 'b', '--yes'),
        )

    def _retire(self, count: int) -> None:
        self._nodes.delete_all(self.free[-count:])
        del self.free[-count:]

    def _drain(self) -> None:
        self._ring.stop(_OWNER)
        self.hosts.remove(_OWNER)
        self._ring.operate('service', 'set', _OWNER, '--disable', '--yes')
        self._ring.operate('service', 'drain', _OWNER, '--yes')


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.bulk',
        description='Change many nodes of a real Ironic at once.',
    )
    parser.add_argument('--nodes', type=int, default=100_000)
    parser.add_argument('--services', type=int, default=10)
    args = parser.parse_args(argv)
    deployed, many = round(args.nodes * 0.3), round(args.nodes * 0.1)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(deployment.directory())
        server = stack.enter_context(ironic.Ironic(directory / 'ironic'))
        sql = stack.enter_context(deployment.postgresql_in(directory))
        ring, shards = (
            stack.enter_context(
                contextlib.closing(
                    Deployment(
                        deployment.subdirectory(directory, name),
                        sql.create_database(name),
                        server.endpoint,
                    )
                )
            )
            for name in ('ring', 'shards')
        )
        observer = stack.enter_context(Heartbeats(ring.database))
        bench = Bench(enrolment.Enrolment(server), ring, shards, observer)
        bench.run(deployed, args.nodes - deployed, many, args.services)
    return table.show(
        f'Changes of many of {args.nodes} nodes of a real Ironic; the peer '
        'of a time without a heartbeat is that after which a service stops',
        [row for cost in bench.costs for row in _rows(cost)],
    )


def _rows(cost: Cost) -> Iterator[table.Row]:
    acts_for = _TIMING.member_ttl - _TIMING.fence_margin
    yield table.Row(
        f'{cost.step}: without a heartbeat', cost.gap, acts_for, 's', 0.99
    )
    if cost.step.endswith(_DIES):
        yield table.Row(
            f'{cost.step}: all taken over, against the time to live + 2 s',
            cost.seconds,
            _TIMING.member_ttl + 2,
            's',
            1.0,
        )
    if cost.step.endswith(_ENROLLED):
        yield table.Row(
            f"{cost.step}: Ironic's processor time, against {_EACH} s a node",
            cost.ironic,
            _EACH * int(cost.step.split()[0]),
            's',
            1.0,
        )


if __name__ == '__main__':
    sys.exit(main())
