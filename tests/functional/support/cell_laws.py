"""Laws over a cell of Nova, checked by an observer that trusts no service.

It reads the tables of Nova, Placement and Ironic itself, with SQL of its own.
The checks are functions of snapshots, so that a test can show that each of
them can fail.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping, Sequence

import pymysql

from lab import nova, nova_schema

_PAUSE = 0.3
"""Seconds between two snapshots: the services share the machine with it."""


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Contents of the databases at one moment.

    :ivar rows: the host of each compute node that is not deleted.
    :ivar instances: (node, host) of each instance that is not deleted and
        has been given to a host.
    :ivar deployed: the nodes with an instance in Ironic, and that instance.
    :ivar nodes: all nodes of Ironic.
    :ivar providers: the providers of Placement.
    :ivar allocations: (consumer, provider) of the allocations.
    """

    rows: Mapping[str, str]
    instances: Mapping[str, tuple[str, str]]
    deployed: Mapping[str, str]
    nodes: frozenset[str]
    providers: frozenset[str]
    allocations: frozenset[tuple[str, str]]

    @property
    def occupied(self) -> set[str]:
        return {node for node, _ in self.instances.values()} | set(
            self.deployed
        )


@dataclasses.dataclass(frozen=True)
class Facts:
    """Actions of the test, which no database shows.

    :ivar moves: the nodes that an operator has moved, or has deleted.
    :ivar exclusive: the policies give no free node of a live service away.
    :ivar dead: the hosts whose processes have ended, ever.
    """

    moves: frozenset[str] = frozenset()
    exclusive: bool = False
    dead: frozenset[str] = frozenset()


def check_one(now: Snapshot) -> list[str]:
    return [
        f'split: instance {uuid} is of {host}, its node of {now.rows[node]}'
        for uuid, (node, host) in now.instances.items()
        if now.rows.get(node, host) != host
    ]


def check_pair(old: Snapshot, new: Snapshot, facts: Facts) -> list[str]:
    """Return violations between two snapshots, one soon after the other."""
    found = []
    for node, host in new.rows.items():
        before = old.rows.get(node, host)
        if before == host or node in facts.moves:
            continue
        change = f'{node}: {before} -> {host}'
        if node in old.occupied and node in new.occupied:
            found.append(f'deployed: {change}')
        elif facts.exclusive and before not in facts.dead:
            found.append(f'stolen: {change}')
    kept = (old.nodes & new.nodes) - facts.moves
    found += [
        f'row lost: {node}' for node in kept & old.rows.keys() - new.rows
    ]
    found += [
        f'provider lost: {node}'
        for node in kept & old.providers - new.providers
    ]
    found += [
        f'allocation lost: {consumer} on {node}'
        for consumer, node in old.allocations - new.allocations
        # An instance that Nova deletes gives up its node first.
        if node in kept
        and new.deployed.get(node) == consumer
        and old.deployed.get(node) == consumer
    ]
    return found


def unserved(now: Snapshot, dead: Iterable[str]) -> set[str]:
    """Return the free nodes whose row is missing, or of a dead host."""
    gone = {None, *dead}
    return {
        node for node in now.nodes - now.occupied if now.rows.get(node) in gone
    }


class CellObserver:
    """Takes snapshots of a cell in a thread, and keeps the violations.

    :ivar violations: what was found, each once, with its first time.
    """

    def __init__(self, cloud: nova.Nova, *, exclusive: bool = False) -> None:
        self.violations: dict[str, float] = {}
        self.count = 0
        self._cloud = cloud
        # Replaced as a whole, so that the thread sees all of it or nothing.
        self._facts = Facts(exclusive=exclusive)
        self._dead: frozenset[str] = frozenset()
        self._last: Snapshot | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> CellObserver:
        self._thread.start()
        return self

    def stop(self) -> None:
        """End, after the snapshot that is under way."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def died(self, host: str) -> None:
        self._dead |= {host}
        self._facts = dataclasses.replace(
            self._facts, dead=self._facts.dead | {host}
        )

    def returned(self, host: str) -> None:
        self._dead -= {host}

    def expect(self, nodes: Sequence[str]) -> None:
        """Note that an operator moves nodes, or deletes their rows, now."""
        self._facts = dataclasses.replace(
            self._facts, moves=self._facts.moves.union(nodes)
        )

    def unserved(self) -> set[str]:
        """Return the free nodes without a live service, at this moment."""
        return unserved(self.snapshot(), self._dead)

    def snapshot(self) -> Snapshot:
        # Ironic first: an instance appears in Nova before it is there.
        ironic = self._cloud.ironic.directory / 'ironic.db'
        nodes = _select(ironic, 'SELECT uuid, instance_uuid FROM nodes')
        placement = self._cloud.placement.directory / 'placement.db'
        providers = _select(placement, 'SELECT uuid FROM resource_providers')
        allocations = _select(
            placement,
            'SELECT a.consumer_id, p.uuid FROM allocations AS a '
            'JOIN resource_providers AS p ON p.id = a.resource_provider_id',
        )
        rows, instances = self._cell()
        return Snapshot(
            rows=rows,
            instances=instances,
            deployed={uuid: instance for uuid, instance in nodes if instance},
            nodes=frozenset(uuid for uuid, _ in nodes),
            providers=frozenset(uuid for (uuid,) in providers),
            allocations=frozenset(
                (consumer, uuid) for consumer, uuid in allocations
            ),
        )

    def _run(self) -> None:
        while not self._stopping.wait(_PAUSE):
            try:
                now = self.snapshot()
            except (pymysql.err.Error, sqlite3.Error):
                continue  # a database is down: nothing can change in it
            found = check_one(now)
            if self._last is not None:
                found += check_pair(self._last, now, self._facts)
            for one in found:
                self.violations.setdefault(one, time.monotonic())
            self._last = now
            self.count += 1

    def _cell(self) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
        with contextlib.closing(
            pymysql.connect(
                host='127.0.0.1',
                ssl_disabled=True,
                port=self._cloud.database.port,
                user='root',
                database=nova_schema.CELL1,
                read_timeout=30,
            )
        ) as connection:
            cursor = connection.cursor()
            cursor.execute('START TRANSACTION WITH CONSISTENT SNAPSHOT')
            cursor.execute(
                'SELECT uuid, host FROM compute_nodes WHERE deleted = 0'
            )
            rows = dict(cursor.fetchall())
            cursor.execute(
                'SELECT uuid, node, host FROM instances WHERE deleted = 0 '
                'AND host IS NOT NULL AND node IS NOT NULL'
            )
            found = cursor.fetchall()
        return rows, {uuid: (node, host) for uuid, node, host in found}


def _select(path: object, statement: str) -> list[tuple[str, ...]]:
    with contextlib.closing(
        sqlite3.connect(f'file:{path}?mode=ro', uri=True, timeout=30)
    ) as connection:
        return list(connection.execute(statement))
