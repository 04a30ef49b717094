"""Run the faults of one round, each in a thread of its own, and end them."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from benchmarks.nemesis import clock, members
from benchmarks.nemesis.cluster import HOSTS, Cluster
from benchmarks.nemesis.hosts import HostProcess
from benchmarks.nemesis.journal import Journal
from benchmarks.nemesis.observer import Observer
from benchmarks.nemesis.schedule import Planned
from lab import process

Fault = Callable[['Storm', Planned], contextlib.AbstractContextManager[None]]


_OPERATORS = 3
"""Commands and changes of nodes at the same time."""


class BusyError(Exception):
    """Another fault affects the same target."""


class Storm:
    """The faults of one round.

    :ivar deleted: when the run asked Ironic to delete a node, by its uuid.
    :ivar troubles: errors of the run itself.
    """

    def __init__(
        self, cluster: Cluster, journal: Journal, observer: Observer
    ) -> None:
        self.cluster = cluster
        self.journal = journal
        self.observer = observer
        self.deleted: dict[str, float] = {}
        self.troubles: list[str] = []
        self._healing = threading.Event()
        self._threads: list[threading.Thread] = []
        together = cluster.settings.together
        self._slots = threading.Semaphore(together)
        self._operators = threading.Semaphore(_OPERATORS)
        self._commands: Collection[Fault] = ()
        self._lock = threading.Lock()
        self._busy: set[str] = set()

    def blow(
        self,
        schedule: Sequence[Planned],
        faults: Mapping[str, Fault],
        commands: Collection[Fault],
        seconds: float,
    ) -> None:
        """Run a schedule; return when each of its faults has ended.

        :param commands: those of the faults that are commands and changes.
        :param seconds: after which the remaining ones end.
        """
        self._healing.clear()
        self._commands = commands
        began = clock.now()
        for planned in schedule:
            time.sleep(max(0.0, began + planned.at - clock.now()))
            thread = threading.Thread(
                target=self._run,
                args=(planned, faults[planned.kind]),
                name=planned.kind,
                daemon=True,
            )
            thread.start()
            self._threads.append(thread)
        time.sleep(max(0.0, began + seconds - clock.now()))
        self.calm()

    def calm(self) -> None:
        """End all faults, and wait until each has undone what it did."""
        self._healing.set()
        for thread in self._threads:
            thread.join(300)
            if thread.is_alive():
                self.troubles.append(f'{thread.name} does not end')
        self._threads.clear()

    def _run(self, planned: Planned, fault: Fault) -> None:
        slots = self._operators if fault in self._commands else self._slots
        if not slots.acquire(blocking=False):
            self.journal.skip(planned.kind)
            return
        try:
            with fault(self, planned):
                self._healing.wait(planned.duration)
        except (BusyError, LookupError):
            self.journal.skip(planned.kind)
        except (process.LabError, subprocess.SubprocessError, OSError):
            self.troubles.append(f'{planned.kind}: {traceback.format_exc()}')
        finally:
            slots.release()

    def restore(self) -> None:
        """Undo what faults may have left: processes, options, services."""
        for one in self.cluster.processes.values():
            if one.wanted and not one.is_running:
                # Every fault that ends a process starts it again.
                self.observer.findings.add(
                    'process', f'{one.login} has ended: {one.last_words()}'
                )
                one.start()
            elif one.changed:
                one.changed.clear()
                one.reload()
        for host in HOSTS:
            self._restore_service(host)

    def repair_members(self) -> None:
        """Repair a store that is not able to go on without an operator."""
        store = self.cluster.members
        if isinstance(store, members.Cluster) and store.repair():
            self.journal.end(self.journal.begin('members-repaired', 'members'))

    def _restore_service(self, host: str) -> None:
        for _ in range(10):
            row = self.observer.read().services.get(host)
            if row is None or not (row.forced_down or row.disabled):
                return
            self.command('service', 'set', host, '--up', '--enable', '--yes')
        self.troubles.append(f'{host} can not be taken up')

    @contextlib.contextmanager
    def taken(self, *targets: str) -> Iterator[None]:
        """Reserve targets for one fault.

        :raises BusyError: if one of them has a fault already.
        """
        with self._lock:
            if self._busy.intersection(targets):
                raise BusyError
            self._busy.update(targets)
        try:
            yield
        finally:
            with self._lock:
                self._busy.difference_update(targets)

    @contextlib.contextmanager
    def noted(
        self, kind: str, target: str, detail: str = ''
    ) -> Iterator[None]:
        """Keep an entry of the journal for as long as a fault lasts."""
        entry = self.journal.begin(kind, target, detail)
        try:
            yield
        finally:
            self.journal.end(entry)

    def command(self, *arguments: str) -> int:
        """Run a command of an operator, and note its exit code.

        A traceback is a violation, and so is a command without an end.
        """
        kind = ' '.join(arguments[:2])
        entry = self.journal.begin('operator', ' '.join(arguments))
        try:
            code, output = self.cluster.operate(*arguments)
        except process.LabError as exc:
            self.journal.end(entry, 'no end')
            self.observer.findings.add('operator', f'{kind}: {exc}')
            return -1
        error = ' '.join(output.split())[-300:]
        self.journal.end(entry, f'exit {code} {error}')
        if 'Traceback' in output or code not in (0, 1, 3, 4):
            self.observer.findings.add(
                'operator', f'{kind}: exit {code}: {error}'
            )
        return code

    def running(self) -> list[HostProcess]:
        """Return the processes that run."""
        return [p for p in self.cluster.processes.values() if p.is_running]

    def owned(self, host: str) -> list[str]:
        """Return the nodes of a service, as last seen."""
        seen = self.observer.latest
        return sorted(u for u, owner in seen.owners.items() if owner == host)
