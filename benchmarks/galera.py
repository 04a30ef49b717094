"""Random transactions on several Galera nodes at once, and their order.

Each round starts two or three transactions together, each through another
node of the cluster. Afterwards the laws are evaluated on the binary log.
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
import uuid as uuid_module
from collections.abc import Callable, Iterator, Mapping, Sequence
from unittest import mock

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.moves import Move, NodeMove
from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Forget,
    Release,
    Report,
    Update,
)
from ironic_ownership.contracts.reservation_request import Request
from ironic_ownership.contracts.reservations import Reservation
from ironic_ownership.db import (
    connection,
    moves,
    records,
    removals,
    reservations,
    schema,
    transaction,
)
from lab import committed_order, galera

HOSTS = ('host1', 'host2', 'host3')
NODES = tuple(f'00000000-0000-0000-0000-{n:012d}' for n in range(6))
_SETTINGS = model.MemberSettings()
_ASSIGNED = reasons.Reason.ASSIGNED
_COUNTERS = ('local_replays', 'local_cert_failures', 'local_bf_aborts')

Operation = Callable[['Ports'], object]


@dataclasses.dataclass
class Ports:
    """The ports to the records through one node of the cluster."""

    database: connection.Database

    def __post_init__(self) -> None:
        self.records = records.SqlRecords(self.database)
        self.moves = moves.SqlMoves(self.database)
        self.removals = removals.SqlRemovals(self.database)
        self.reservations = reservations.SqlReservations(self.database)


@dataclasses.dataclass
class State:
    """The records as the choice of a round sees them."""

    services: dict[str, model.Service]
    nodes: dict[str, model.ComputeNode]
    reservations: Sequence[Reservation]


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
        self._random = random.Random(seed)
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
        state = State(
            {s.host: s for s in first.records.services()},
            {n.uuid: n for n in first.records.compute_nodes()},
            first.reservations.reservations(),
        )
        barrier = threading.Barrier(len(some))
        chosen = [(ports, *self._choose(state)) for ports in some]
        for future in [
            threads.submit(self._do, barrier, *one) for one in chosen
        ]:
            self._outcomes[future.result()] += 1

    @staticmethod
    def _do(
        barrier: threading.Barrier,
        ports: Ports,
        kind: str,
        operation: Operation,
    ) -> tuple[str, str]:
        barrier.wait(60)
        try:
            done = operation(ports)
        except exceptions.RecordsUnavailableError as exc:
            return kind, f'failed: {exc}'
        except exceptions.OwnershipError:
            return kind, 'refused'
        return kind, 'refused' if done is False else 'applied'

    def _choose(self, state: State) -> tuple[str, Operation]:
        host = self._random.choice(HOSTS)
        service = state.services.get(host)
        if service is None or (
            service.fenced
            and not service.forced_down
            and self._random.random() < 0.7
        ):
            return 'register', lambda p: p.records.register(host, _SETTINGS)
        if self._random.random() < 0.3:
            return self._by_operator(state, service)
        return self._by_service(state, service)

    def _by_operator(
        self, state: State, service: model.Service
    ) -> tuple[str, Operation]:
        host, actor = service.host, committed_order.OPERATOR
        kind = self._random.choice(
            (
                *('force down', 'take up', 'disable', 'fail over', 'delete'),
                *('move', 'move', 'move', 'remove', 'remove', 'retire'),
            )
        )
        node = state.nodes.get(self._random.choice(NODES))
        owner = state.services.get(node.host or '') if node else None
        epoch = owner.epoch if owner else None
        others: dict[str, Operation] = {
            'force down': lambda p: p.records.set_service(
                host, actor=actor, forced_down=True
            ),
            'take up': lambda p: p.records.set_service(
                host, actor=actor, forced_down=False, disabled=False
            ),
            'disable': lambda p: p.records.set_service(
                host, actor=actor, disabled=True
            ),
            'fail over': lambda p: p.records.fail_over(
                host, incarnation='other', actor=actor
            ),
            'delete': lambda p: p.records.delete_service(host, actor=actor),
            'retire': lambda p: p.records.retire(host, service.epoch, grace=0),
        }
        if kind in others:
            return kind, others[kind]
        if node is None:
            return 'take up', others['take up']
        if kind == 'remove':
            return kind, lambda p: p.removals.remove(
                node.uuid, seen_host=node.host, seen_epoch=epoch, actor=actor
            )
        return kind, lambda p: _move(p, node, epoch, host)

    def _by_service(
        self, state: State, service: model.Service
    ) -> tuple[str, Operation]:
        host = service.host
        node = state.nodes.get(uuid := self._random.choice(NODES))
        described = model.Node(uuid, name=f'{host}@{service.epoch}')
        owner = node.host if node else None
        if owner is None:
            if self._random.random() < 0.3:
                return 'reserve', _reserve(service, described)
            return self._apply(
                'claim free', service, Claim(described, _ASSIGNED)
            )
        if owner != host and node and node.instance_uuid:
            # Only its owner, or an operator, can do anything with it.
            service = state.services.get(owner, service)
            host = service.host
            described = dataclasses.replace(
                described, name=f'{host}@{service.epoch}'
            )
        if owner != host:
            other = state.services.get(owner)
            epoch = other.epoch if other else None
            return self._apply(
                'claim of another',
                service,
                Claim(described, _ASSIGNED, owner, epoch),
            )
        mine = [r for r in state.reservations if r.node_uuid == uuid]
        if mine:
            (one, *_) = mine
            return 'end reservation', lambda p: p.reservations.close(
                one.id, 'over', epoch=service.epoch
            )
        instance = (
            None if node and node.instance_uuid else str(_new(self._random))
        )
        changed = dataclasses.replace(described, instance_uuid=instance)
        changes: dict[str, Change] = {
            'release': Release(uuid),
            'forget': Forget(uuid),
            'report': Report(uuid, 'digest'),
            'instance': Update(changed),
        }
        kind = self._random.choice((*changes, 'instance'))
        return self._apply(kind, service, changes[kind])

    @staticmethod
    def _apply(
        kind: str, service: model.Service, change: Change
    ) -> tuple[str, Operation]:
        def apply(ports: Ports) -> bool:
            done = ports.records.apply(service.host, service.epoch, [change])
            return bool(done.applied)

        return kind, apply


def _new(source: random.Random) -> uuid_module.UUID:
    return uuid_module.UUID(int=source.getrandbits(128))


def _move(
    ports: Ports, node: model.ComputeNode, epoch: int | None, host: str
) -> bool:
    request = f'req-{uuid_module.uuid4()}'
    move = Move(request, host, committed_order.OPERATOR)
    planned = NodeMove(node.uuid, node.host, epoch, node.instance_uuid)
    ports.moves.plan(move, [planned])
    (done,) = ports.moves.carry_out(request, [planned])
    return done.state == 'moved'


def _reserve(service: model.Service, node: model.Node) -> Operation:
    def reserve(ports: Ports) -> None:
        instance = str(uuid_module.uuid4())
        wanted = Reservation(
            str(uuid_module.uuid4()),
            instance,
            service.host,
            Request(instance, service.host),
        )
        begun = ports.reservations.begin(wanted)
        ports.reservations.activate(begun.id, node, epoch=service.epoch)

    return reserve


@contextlib.contextmanager
def without_revisions() -> Iterator[None]:
    """Break the fence: lock services, and do not write them."""
    with mock.patch.object(transaction, 'raise_revisions'):
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

    :returns: an exit code: 0 without a violation.
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
    return 1 if results['kept'].report.violations else 0


if __name__ == '__main__':
    sys.exit(main())
