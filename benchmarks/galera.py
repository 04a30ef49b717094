"""Random transactions on several Galera nodes at once, and their order.

Each round starts two or three transactions together, each through another
node of the cluster, and lets them commit together as well. Few services and
few nodes make most pairs depend on each other. Afterwards the laws are
evaluated on the binary log.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import pathlib
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from unittest import mock

from benchmarks import galera_choice
from benchmarks.galera_choice import HOSTS, SETTINGS, CommonCommit, Ports
from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection, schema, transaction
from lab import committed_order, galera

_COUNTERS = ('local_replays', 'local_cert_failures', 'local_bf_aborts')

_PREPARED = 0.8
"""Share of the rounds that begin with a service that may write."""


@dataclasses.dataclass
class Result:
    """Counts of a run.

    :ivar outcomes: by kind of operation and outcome.
    :ivar counters: of the cluster: what its certification did.
    """

    rounds: int
    seconds: float
    outcomes: collections.Counter[tuple[str, str]]
    counters: dict[str, int]
    report: committed_order.Report

    def count(self, outcome: str) -> int:
        """Return the number of operations with an outcome."""
        return sum(n for (_, o), n in self.outcomes.items() if o == outcome)


class Explorer:
    """Rounds of random transactions on a fresh database of a cluster."""

    def __init__(self, cluster: galera.Galera, name: str, seed: int) -> None:
        self._cluster, self._name = cluster, name
        self._choice = galera_choice.Choice(seed)
        self._random = self._choice.random
        self._ports = [
            Ports(connection.open_database(url, mysql_wsrep_sync_wait=7))
            for url in cluster.create_database(name)
        ]
        schema.upgrade(self._ports[0].database)
        self._outcomes: collections.Counter[tuple[str, str]] = (
            collections.Counter()
        )

    def run(self, *, rounds: int = sys.maxsize, seconds: float) -> Result:
        """Run until either limit, then evaluate the committed order."""
        before = self._counters()
        begun, done = time.monotonic(), 0
        try:
            with concurrent.futures.ThreadPoolExecutor(
                len(self._ports)
            ) as threads:
                while done < rounds and time.monotonic() < begun + seconds:
                    self._round(threads)
                    done += 1
        finally:
            for ports in self._ports:
                ports.database.close()
        after = self._counters()
        return Result(
            done,
            time.monotonic() - begun,
            self._outcomes,
            {name: after[name] - before[name] for name in _COUNTERS},
            committed_order.evaluate(self._cluster.nodes[0], self._name),
        )

    def _counters(self) -> dict[str, int]:
        return {
            name: sum(int(n.status(name)) for n in self._cluster.nodes)
            for name in _COUNTERS
        }

    def _round(self, threads: concurrent.futures.Executor) -> None:
        some = self._random.sample(self._ports, self._random.choice((2, 2, 3)))
        first = some[0]
        focus = self._random.choice(HOSTS)
        if self._random.random() < _PREPARED:
            _let_write(first, focus)
        state = galera_choice.State(
            {s.host: s for s in first.records.services()},
            {n.uuid: n for n in first.records.compute_nodes()},
            first.reservations.reservations(),
        )
        barrier = threading.Barrier(len(some))
        chosen = [(first, *self._choice.choose(state, focus))] + [
            (ports, *self._choice.against(state, focus)) for ports in some[1:]
        ]
        common = CommonCommit(len(some))
        for ports in some:
            ports.common = common
        for future in [
            threads.submit(self._do, barrier, *one) for one in chosen
        ]:
            self._outcomes[future.result()] += 1
        for ports in some:
            ports.common = None

    @staticmethod
    def _do(
        barrier: threading.Barrier,
        ports: Ports,
        kind: str,
        operation: galera_choice.Operation,
    ) -> tuple[str, str]:
        barrier.wait(60)
        try:
            done = operation(ports)
        except exceptions.RecordsUnavailableError as exc:
            return kind, f'failed: {exc}'
        except exceptions.OwnershipError:
            return kind, 'refused'
        finally:
            if ports.common is not None:
                ports.common.end()
        return kind, 'refused' if done is False else 'applied'


def _let_write(ports: Ports, host: str) -> None:
    """Register a service that is fenced, before a round begins."""
    found = [s for s in ports.records.services() if s.host == host]
    if found and found[0].forced_down:
        ports.records.set_service(
            host, actor=committed_order.OPERATOR, forced_down=False
        )
    if not found or found[0].fenced or found[0].forced_down:
        ports.records.register(host, SETTINGS)


@contextlib.contextmanager
def without_revisions() -> Iterator[None]:
    """Break the fence: lock services, and do not write them."""
    with mock.patch.object(transaction.Transaction, 'raise_revisions'):
        yield


def _show(seed: int, results: Mapping[str, Result]) -> None:
    print(
        f'Random transactions on three Galera nodes, seed {seed}\n'
        f'{"fence":8}{"rounds":>8}{"seconds":>9}{"applied":>9}{"refused":>9}'
        f'{"committed":>11}{"replays":>9}{"conflicts":>11}{"violations":>12}'
    )
    for name, result in results.items():
        replays, *conflicts = result.counters.values()
        print(
            f'{name:8}{result.rounds:8}{result.seconds:9.0f}'
            f'{result.count("applied"):9}{result.count("refused"):9}'
            f'{result.report.transactions:11}{replays:9}'
            f'{sum(conflicts):11}{len(result.report.violations):12}'
        )
    for name, result in results.items():
        for kind, outcome in sorted(result.outcomes):
            if outcome.startswith('failed'):
                print(f'{name}: {kind} {outcome}')
        for violation in result.report.violations:
            print(f'{name}: {violation}')


def main(argv: list[str] | None = None) -> int:
    """Explore for some minutes, with the fence and without.

    :returns: an exit code: 0 if the fence has no violation, and none has.
    """
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.galera', description=__doc__
    )
    parser.add_argument('--minutes', type=float, default=2)
    parser.add_argument('--seed', type=int, default=random.randrange(2**32))
    options = parser.parse_args(argv)
    results: dict[str, Result] = {}
    with tempfile.TemporaryDirectory() as directory:
        cluster = galera.Galera(pathlib.Path(directory))
        try:
            cluster.start()
            explorer = Explorer(cluster, 'kept', options.seed)
            results['kept'] = explorer.run(seconds=options.minutes * 60)
            with without_revisions():
                explorer = Explorer(cluster, 'broken', options.seed)
                results['broken'] = explorer.run(seconds=options.minutes * 60)
        finally:
            cluster.stop()
    _show(options.seed, results)
    found = {name: one.report.violations for name, one in results.items()}
    return int(bool(found['kept']) or not found['broken'])


if __name__ == '__main__':
    sys.exit(main())
