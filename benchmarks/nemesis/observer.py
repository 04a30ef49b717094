"""Observer: consistent snapshots of the records, and when events appeared.

Reads plain SQL on a connection of its own that no fault of a network path
affects. While the server is frozen or down there is no snapshot.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
import threading
import traceback
from collections.abc import (
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)

import psycopg2
import pymysql
import tenacity

from benchmarks.nemesis import clock
from benchmarks.nemesis.findings import Findings
from benchmarks.nemesis.records import Records, Row

ERRORS = (psycopg2.Error, pymysql.Error, sqlite3.Error, OSError)
"""Errors of a database that does not answer."""

_PAUSE = 0.4
_OUT_OF_ORDER = 300
"""Ids before the highest one that may still appear."""

_COLUMNS = (
    'id, at, actor, kind, node_uuid, from_host, to_host, instance_uuid, reason'
)

_patiently = tenacity.retry(
    retry=tenacity.retry_if_exception_type(ERRORS),
    stop=tenacity.stop_after_delay(60),
    wait=tenacity.wait_fixed(1),
    reraise=True,
)
"""Between two rounds there is no fault: what fails then is a slow machine."""

Run = Callable[[str], list[Row]]


@dataclasses.dataclass(frozen=True)
class Service:
    """The row of one service."""

    host: str
    epoch: int
    fenced: bool
    forced_down: bool
    disabled: bool
    incarnation: str | None = None


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The records at one moment.

    :param at: just before it was read.
    :param owners: host by node, of all records that are not deleted.
    :param instances: instance and its host by node, of all open ones.
    """

    at: float = 0.0
    services: Mapping[str, Service] = dataclasses.field(default_factory=dict)
    owners: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    instances: Mapping[str, tuple[str, str | None]] = dataclasses.field(
        default_factory=dict
    )
    last_event: int = 0


@dataclasses.dataclass(frozen=True)
class Event:
    """One row of the history.

    :param at: on the clock of the run: no earlier than its transaction read
        the database's clock, and, if it was observed, than the last read
        that did not see it.
    :param writer: the process that wrote it, if the server knows.
    """

    id: int
    at: float
    actor: str
    kind: str
    node: str | None
    source: str | None
    target: str | None
    instance: str | None
    reason: str | None
    writer: str | None

    def text(self, origin: float) -> str:
        """Return one line; times are relative to ``origin``."""
        words = [
            f'{self.at - origin:9.2f} event {self.id} {self.kind} by',
            f'{self.actor} ({self.writer}):',
            f'node {self.node}' if self.node else '',
            f'{self.source} -> {self.target}',
            f'instance {self.instance}' if self.instance else '',
            self.reason or '',
        ]
        return ' '.join(word for word in words if word)


class Observer:
    """Reads the records all the time, in a thread of its own.

    :ivar latest: the last snapshot.
    :ivar snapshots: how many there were.
    :ivar longest_gap: seconds between two snapshots, at most.
    """

    def __init__(self, records: Records, findings: Findings) -> None:
        self.findings = findings
        self.latest = Snapshot()
        self.snapshots = 0
        self.longest_gap = 0.0
        self._records = records
        self._epochs: dict[str, int] = {}
        self._is_losing = False
        self._active: dict[tuple[str, int], str] = {}
        self._unseen_at: dict[int, float] = {}
        self._watchers: list[Callable[[Snapshot], None]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def watch(self, action: Callable[[Snapshot], None]) -> None:
        """Call a function with each snapshot, in the observer's thread."""
        self._watchers.append(action)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """End after the read that is under way."""
        self._stopping.set()
        self._thread.join(30)

    @_patiently
    def read(self) -> Snapshot:
        """Return a snapshot of now.

        :raises OSError: or an error of the driver, without an answer.
        """
        with self._records.reading() as run:
            return _snapshot(run)

    @_patiently
    def events(self, known: Collection[int]) -> list[Event]:
        """Return all events but some, in the order of their effects.

        :param known: ids of those that are not wanted.
        """
        # Servers of a cluster do not count in order.
        after = max(known, default=0) - _OUT_OF_ORDER
        writer = 'written_by' if self._records.writer else 'NULL'
        with self._records.reading() as run:
            rows = run(
                f'SELECT {_COLUMNS}, {writer} FROM events WHERE id > {after} '
                f'ORDER BY {self._records.ordered_by}'
            )
        offset = clock.wall_offset()
        return [
            self._event(row, offset) for row in rows if row[0] not in known
        ]

    def _event(self, row: Row, offset: float) -> Event:
        at = max(row[1] - offset, self._unseen_at.get(row[0], 0.0))
        return Event(row[0], at, *row[2:])

    def forget(self, event: int) -> None:
        """Drop what is known of the events up to an id."""
        self._unseen_at = {
            i: at for i, at in list(self._unseen_at.items()) if i > event
        }

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except ERRORS:
                self._stopping.wait(1)
            except Exception:  # noqa: BLE001 - the run must not go blind
                self.findings.add('observer', traceback.format_exc())
                self._stopping.wait(1)

    def _follow(self) -> None:
        with contextlib.closing(self._records.connect()) as connection:

            def run(statement: str) -> list[Row]:
                cursor = connection.cursor()
                cursor.execute(statement)
                return list(cursor.fetchall())

            while not self._stopping.wait(_PAUSE):
                began = clock.now()
                snapshot = _snapshot(run)
                seen = run(
                    'SELECT id FROM events WHERE id > '
                    f'{self.latest.last_event - _OUT_OF_ORDER}'
                )
                connection.commit()
                self._note_events(seen)
                self._take(dataclasses.replace(snapshot, at=began))

    def _note_events(self, seen: Sequence[Row]) -> None:
        """Note for each new event the last read that did not see it."""
        if self.latest.at:
            for (event,) in seen:
                self._unseen_at.setdefault(event, self.latest.at)

    def _take(self, snapshot: Snapshot) -> None:
        if self.latest.at:
            gap = snapshot.at - self.latest.at
            self.longest_gap = max(self.longest_gap, gap)
        self.snapshots += 1
        self.latest = snapshot
        self._check_epochs(snapshot)
        self._check_instances(snapshot)
        for watcher in self._watchers:
            watcher(snapshot)

    @contextlib.contextmanager
    def losing_commits(self) -> Iterator[None]:
        """Expect epochs to be smaller than lost ones, but none of them.

        From before the loss: the first snapshot after it may come before
        the promotion is complete.
        """
        self._is_losing = True
        try:
            yield
        finally:
            self._epochs.clear()
            self._is_losing = False

    def _check_epochs(self, snapshot: Snapshot) -> None:
        for service in snapshot.services.values():
            if service.fenced or service.incarnation is None:
                continue
            key = service.host, service.epoch
            before = self._active.setdefault(key, service.incarnation)
            if before != service.incarnation:
                self.findings.add(
                    'epochs',
                    f'{service.host}: epoch {service.epoch} was given to '
                    f'{before}, and to {service.incarnation}',
                )
        self._check_order(snapshot)

    def _check_order(self, snapshot: Snapshot) -> None:
        for service in snapshot.services.values():
            before = self._epochs.get(service.host, 0)
            if service.epoch < before and not self._is_losing:
                self.findings.add(
                    'epochs',
                    f'{service.host}: epoch {before}, then {service.epoch}',
                )
            self._epochs[service.host] = service.epoch

    def _check_instances(self, snapshot: Snapshot) -> None:
        for node, (instance, host) in snapshot.instances.items():
            owner = snapshot.owners.get(node)
            if node not in snapshot.owners or owner != host:
                self.findings.add(
                    'law 7',
                    f'instance {instance} belongs to {host}, its node to '
                    f'{owner}',
                    node=node,
                )


def _snapshot(run: Run) -> Snapshot:
    at = clock.now()
    services = [
        Service(host, epoch, bool(fenced), bool(down), bool(disabled), process)
        for host, epoch, fenced, down, disabled, process in run(
            'SELECT host, epoch, fenced, forced_down, disabled, incarnation '
            'FROM services'
        )
    ]
    owners = run(
        'SELECT uuid, host FROM compute_nodes WHERE deleted_at IS NULL'
    )
    instances = run(
        'SELECT open_node_uuid, uuid, host FROM instances '
        'WHERE open_node_uuid IS NOT NULL'
    )
    last = run('SELECT MAX(id) FROM events')
    return Snapshot(
        at,
        {service.host: service for service in services},
        dict(owners),
        {node: (instance, host) for node, instance, host in instances},
        last[0][0] or 0,
    )
