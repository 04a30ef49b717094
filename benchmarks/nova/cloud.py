"""One Nova with a real Ironic, and what its processes cost."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, Self

from benchmarks.nova import recorder
from benchmarks.nova.progress import Progress
from lab import (
    enrolment,
    ironic,
    nova,
    nova_config,
    nova_copies,
    nova_schema,
    process,
)

_TICKS = os.sysconf('SC_CLK_TCK')
_STATEMENTS = ('Com_select', 'Com_insert', 'Com_update', 'Com_delete')
_PROGRAMS = pathlib.Path(sys.executable).parent
_TEMPLATE = 'host1'


@dataclasses.dataclass(frozen=True)
class Costs:
    """Counters of everything at one moment, or a difference of two.

    :ivar at: monotonic seconds.
    :ivar processor: seconds, of one nova-compute and nova-conductor.
    :ivar statements: SQL statements of the database server.
    :ivar requests: requests to Placement.
    """

    at: float
    processor: float
    statements: int
    requests: int

    def __sub__(self, other: Costs) -> Costs:
        return Costs(
            self.at - other.at,
            self.processor - other.processor,
            self.statements - other.statements,
            self.requests - other.requests,
        )


class Compute:
    """One nova-compute whose passes are recorded.

    :ivar began: monotonic time of its last start.
    """

    def __init__(
        self, cloud: Cloud, made: nova.Compute, directory: pathlib.Path
    ) -> None:
        self.nova = made
        self.host = made.host
        self._cloud = cloud
        self._directory = directory
        self._starts = 0
        self._read = 0

    def begin(self) -> None:
        """Start it, and do not wait."""
        self._starts += 1
        self._read = 0
        with _environment('PASSES', str(self._output)):
            self.nova.begin()

    def wait(self) -> None:
        """Wait until it consumes its queue, after its first pass."""
        self._cloud.progress.wait_for(
            lambda: self.nova.is_ready, f'start of {self.host}', self._process
        )

    def event(self, kind: str) -> Costs:
        """Wait for the next begin or end of a pass; return the counters."""
        lines: list[str] = []

        def written() -> bool:
            if self._output.exists():
                text = self._output.read_text()
                lines[:] = text.splitlines()[self._read :]
            return bool(lines)

        self._cloud.progress.wait_for(
            written, f'{kind} of a pass of {self.host}', self._process
        )
        event: dict[str, Any] = json.loads(lines[0])
        assert event['event'] == kind, event
        self._read += 1
        found = self._cloud.counters()
        return dataclasses.replace(
            found,
            at=event['at'],
            processor=found.processor + event['cpu'],
        )

    def skip_passes(self) -> None:
        """Begin with the next pass: forget those that are written."""
        lines = self._output.read_text().splitlines()
        self._read = len(lines)
        if self._read % 2:
            self.event('end')

    @property
    def memory(self) -> float:
        """The peak of its memory, in MB."""
        status = pathlib.Path(f'/proc/{self._process.pid}/status')
        found = dict(
            line.split(':', 1) for line in status.read_text().splitlines()
        )
        return int(found['VmHWM'].split()[0]) / 1024

    @property
    def _output(self) -> pathlib.Path:
        return self._directory / f'passes-{self._starts}'

    @property
    def _process(self) -> process.Process:
        return self.nova.process


class Cloud:
    """Ironic, Nova without computes, and rows of all nodes.

    :param directory: for all files.
    :param nodes: number of free nodes, which Nova knows.
    """

    def __init__(
        self, directory: pathlib.Path, nodes: int, progress: Progress
    ) -> None:
        self.progress = progress
        self.directory = directory
        self.ironic = ironic.Ironic(directory / 'ironic')
        # Nova's own intervals, as of an operator.
        self.nova = nova.Nova(directory / 'nova', self.ironic, {})
        self.nodes: list[str] = []
        self._count = nodes
        self._computes = 0
        self.own_config = directory / 'ironic-ownership.conf'

    def start(self) -> Self:
        """Start the servers, and make the nodes.

        A real nova-compute reports the first one; the others are copies.
        """
        self.ironic.start()
        self.nova.start()
        nodes = enrolment.Enrolment(self.ironic)
        [first] = nodes.enrol(1, same_every_time=True, prefix='first')
        compute = self.nova.compute(_TEMPLATE).start()
        compute.stop()
        if first not in self.nova.placement.providers():
            raise process.LabError('the first node has no provider')
        others = nodes.enrol(self._count - 1, same_every_time=True)
        nodes.age()
        nova_copies.copy_compute_node(self.nova, first, others)
        self.nodes = sorted([first, *others])
        self.progress.report(f'{len(self.nodes)} nodes are known to Nova')
        return self

    def compute(self, host: str, driver: nova.Driver) -> Compute:
        """Return a nova-compute, which is not started."""
        self._computes += 1
        directory = self.directory / f'passes-{self._computes}-{host}'
        directory.mkdir()
        config = (
            {'ironic_ownership': {'config_file': self.own_config}}
            if driver == 'ours'
            else {}
        )
        made = self.nova.compute(
            host, driver, config, pathlib.Path(recorder.__file__)
        )
        return Compute(self, made, directory)

    def adopt(self) -> None:
        """Create records on the database server, and adopt all nodes."""
        url = self.nova.database.create_database('ownership')
        nova_config.write(
            self.own_config,
            {
                'database': {'connection': url},
                'nova': {'cell_schema': nova_schema.CELL1},
            },
        )
        nova_config.write(
            self.operator_config,
            {
                'database': {'connection': url},
                'nova': {'cell_schema': nova_schema.CELL1},
                'ownership': {'policies': 'peer_list'},
                'ironic': {
                    'auth_type': 'none',
                    'endpoint_override': self.ironic.endpoint,
                },
                'placement': self.nova.placement.options(),
            },
        )
        self.run('ironic-ownership-dbsync', 'upgrade')
        self.run('ironic-ownership', 'nova', 'adopt', '--yes')
        self.progress.report('all nodes are adopted')

    @property
    def operator_config(self) -> pathlib.Path:
        """The configuration of the operator's commands."""
        return self.directory / 'operator.conf'

    def run(self, program: str, *words: str) -> None:
        """Run a command of an operator, which has to succeed."""
        done = subprocess.run(
            [
                *(str(_PROGRAMS / program), '--config-file'),
                *(str(self.operator_config), *words),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode:
            raise process.LabError(
                f'{program} {" ".join(words)}: {done.stdout[-2000:]}'
            )

    @staticmethod
    def clock() -> float:
        """Return monotonic seconds, those of the recorded passes."""
        return time.monotonic()

    def count_rows(self, host: str) -> int:
        """Return the number of compute nodes of a host."""
        [(count,)] = self.nova.database.query(
            f'SELECT COUNT(*) FROM {nova_schema.CELL1}.compute_nodes '
            f"WHERE deleted = 0 AND host = '{host}'"
        )
        return int(count)

    def counters(self) -> Costs:
        """Return the counters of this moment, without those of a compute."""
        names = ', '.join(f"'{name}'" for name in _STATEMENTS)
        counts = self.nova.database.query(
            f'SHOW GLOBAL STATUS WHERE Variable_name IN ({names})'
        )
        return Costs(
            0.0,
            _processor(self.nova.service_pid('nova-conductor')),
            sum(int(count) for _, count in counts),
            self.nova.placement.count_requests(),
        )

    def stop(self) -> None:
        """End all processes."""
        self.nova.stop()
        self.ironic.stop()


def _processor(pid: int) -> float:
    """Return the processor time of a process and its children."""
    total = 0.0
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(')')[2].split()
            if int(stat.parent.name) == pid or int(fields[1]) == pid:
                total += (int(fields[11]) + int(fields[12])) / _TICKS
    return total


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
