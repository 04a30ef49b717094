"""A real Nova with one cell, and any number of real nova-computes.

MariaDB, RabbitMQ, Placement, nova-conductor, and on request nova-scheduler and
nova-api. There is no Keystone: requests to the API carry the headers that its
middleware would add. Neutron and Glance are stand-ins: see
``nova_neighbours``.
"""

from __future__ import annotations

import concurrent.futures
import pathlib
import signal
from collections.abc import Callable, Mapping
from typing import Any, Literal

from lab import (
    ironic_api,
    mariadb,
    nova_api,
    nova_config,
    nova_environment,
    nova_schema,
    placement,
    preloaded,
    rabbitmq,
)
from lab.nova_neighbours import Neighbours
from lab.process import LabError, Process, signals_of, wait_for

Driver = Literal['stock', 'ours']
Sections = nova_config.Sections

DRIVERS: Mapping[Driver, str] = {
    'stock': 'ironic.IronicDriver',
    'ours': 'ironic_ownership.OwnershipDriver',
}
_OF_INSTANCES = (
    *('instance_actions_events', 'instance_actions', 'instance_extra'),
    *('instance_faults', 'instance_info_caches', 'instance_metadata'),
    *('instance_system_metadata', 'block_device_mapping', 'instances'),
    *('compute_nodes', 'console_auth_tokens', 'migrations'),
)
_IMPORTS = pathlib.Path(__file__).with_name('nova_imports.py')
_COMPUTE = 'nova.cmd.compute:main'
_STARTED = 'Join ServiceGroup membership'
"""Logged when a service has read its nodes and consumes its queue."""


class _Database(mariadb.MariaDB):
    def _options(self) -> list[str]:
        # Each process of Nova keeps a pool for each database.
        return ['--max-connections=500']


class Compute:
    """One nova-compute of a host; made by :meth:`Nova.compute`.

    :ivar host: its name as a service.
    :ivar log: what it logs.
    :param make: makes its process, with the file that takes its output.
    """

    def __init__(
        self,
        host: str,
        make: Callable[[pathlib.Path], Process],
        directory: pathlib.Path,
    ) -> None:
        self.host = host
        self.log = directory / 'nova-compute.log'
        self._make = make
        self._directory = directory
        self._begun = 0
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        """The process, running or ended."""
        assert self._process is not None, 'not started'
        return self._process

    def start(self) -> Compute:
        """Start it and wait until it consumes its queue."""
        self.begin()
        self.wait()
        return self

    def begin(self) -> None:
        """Start it, for the first time or again, and do not wait."""
        self._begun = len(self.lines(_STARTED))
        self._process = self._make(self._directory / 'output.log').start()

    @property
    def is_ready(self) -> bool:
        """``True`` once it consumes its queue."""
        return len(self.lines(_STARTED)) > self._begun

    def wait(self, timeout: float = 180) -> None:
        """Wait until it has read its nodes and consumes its queue."""
        self.process.wait_until(
            lambda: self.is_ready, f'start of {self.host}', timeout=timeout
        )

    def stop(self) -> None:
        """Stop it cleanly.

        :raises LabError: if it does not end, with its signals, or ends
            otherwise: its place is not given up then.
        """
        self.process.signal(signal.SIGTERM)
        try:
            status = self.process.wait(60)
        except LabError as exc:
            seen = signals_of(self.process.pid)
            self.kill()
            raise LabError(f'{exc}; its signals:\n{seen}') from exc
        if status:
            raise LabError(
                f'{self.host} ended with {status}:\n{self.process.tail()}'
            )

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self._process is not None:
            self._process.kill()

    def freeze(self) -> None:
        """Stop it with SIGSTOP."""
        self.process.freeze()

    def thaw(self) -> None:
        """Continue after :meth:`freeze`."""
        self.process.thaw()

    def lines(self, text: str = '') -> list[str]:
        """Return the lines of its log that contain a text."""
        if not self.log.exists():
            return []
        log = self.log.read_text(errors='replace')
        return [line for line in log.splitlines() if text in line]


class Nova:
    """One Nova with its files in one directory.

    :param directory: created if missing; must be empty.
    :param ironic: the Ironic whose nodes it has; started before.
    :param timing: intervals; an empty mapping has Nova's own.
    :param preloads: whether its processes are forks of one in which the
        imports of a nova-compute are done: see ``preloaded``.
    :ivar database: MariaDB, with the databases of ``nova_schema``.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        ironic: ironic_api.IronicAPI,
        timing: Sections = nova_config.FAST,
        *,
        preloads: bool = False,
    ) -> None:
        self.directory = directory.absolute()
        self._timing = timing
        self.ironic = ironic
        self.database = _Database(self._home('mariadb'))
        self.bus = rabbitmq.RabbitMQ(self._home('rabbitmq'))
        self.placement = placement.Placement(self.directory / 'placement')
        self.neighbours = Neighbours()
        self.api = nova_api.NovaAPI(self.directory / 'api')
        self._config = self.directory / 'nova.conf'
        self._services: dict[str, Process] = {}
        self._computes: list[Compute] = []
        self._preloads = preloads

    def _home(self, name: str) -> pathlib.Path:
        home = self.directory / name
        home.mkdir(parents=True)
        return home

    def start(self) -> None:
        """Start everything but the API, the scheduler and computes."""
        venv = nova_environment.stock()
        _at_the_same_time(
            lambda: self._start_database(venv),
            self.bus.start,
            self.placement.start,
        )
        nova_schema.map_cells(self.database, self.bus.url)
        self._common = nova_config.common(
            *(self.directory, self.database, self.bus, self.ironic),
            *(self.placement, self.neighbours),
        )
        nova_config.write(self._config, self._common, self._timing)
        self.start_service('nova-conductor')

    def _start_database(self, venv: pathlib.Path) -> None:
        self.database.start()
        nova_schema.create(self.database, venv, self.directory)

    def start_api(self) -> nova_api.NovaAPI:
        """Start the scheduler and the API; return the API.

        A nova-compute has to run before: the API reads their versions. Does
        nothing if they run.
        """
        if 'nova-scheduler' in self._services:
            return self.api
        self.start_service('nova-scheduler')
        self.api.configure(
            nova_environment.stock(),
            *(self._common, self._timing),
            forks=_forks() if self._preloads else None,
        )
        self.api.start()
        return self.api

    def start_service(self, name: str) -> None:
        """Start nova-conductor or nova-scheduler, first or again.

        Waits until its service is on record; nova-compute waits itself until
        the conductor answers.
        """
        words = ['--config-file', str(self._config)]
        log = self.directory / f'{name}.log'
        module = f'nova.cmd.{name.removeprefix("nova-")}'
        self._services[name] = (
            preloaded.Preloaded(
                _forks(), f'{module}:main', [name, *words], log
            )
            if self._preloads
            else Process([*self._program(name), *words], log)
        ).start()
        self._services[name].wait_until(
            lambda: name in {row['binary'] for row in self.services()},
            'record of its service',
        )

    def stop_service(self, name: str) -> None:
        """End nova-conductor or nova-scheduler."""
        self._services.pop(name).stop(timeout=10)

    def service_pid(self, name: str) -> int:
        """Return the process id of nova-conductor or nova-scheduler."""
        return self._services[name].pid

    def compute(
        self,
        host: str,
        driver: Driver = 'stock',
        config: Sections | None = None,
        program: pathlib.Path | None = None,
        executable: pathlib.Path | None = None,
    ) -> Compute:
        """Return a nova-compute, which is not started.

        :param host: two of one host each have files of their own.
        :param driver: Nova's own for Ironic, or the one of this checkout.
        :param config: more options, by section.
        :param program: a module that Nova's Python runs instead of the
            program ``nova-compute``, with the same arguments.
        :param executable: another program, with the same arguments; the
            driver is not installed for it.
        """
        if driver == 'ours' and executable is None:
            nova_environment.with_driver()
        home = self._home(f'compute-{len(self._computes)}-{host}')
        path = home / 'nova-compute.conf'
        nova_config.write(
            path,
            {
                'DEFAULT': {
                    'host': host,
                    'state_path': str(home),
                    'log_file': str(home / 'nova-compute.log'),
                    'compute_driver': DRIVERS[driver],
                }
            },
            config or {},
        )
        files = [
            *('--config-file', str(self._config)),
            *('--config-file', str(path)),
        ]
        made = Compute(host, self._maker(program, executable, files), home)
        self._computes.append(made)
        return made

    def _maker(
        self,
        program: pathlib.Path | None,
        executable: pathlib.Path | None,
        files: list[str],
    ) -> Callable[[pathlib.Path], Process]:
        """Return how a nova-compute is started."""
        if self._preloads and executable is None:
            argv = ['nova-compute', *files]
            runs = str(program or _COMPUTE)
            return lambda log: preloaded.Preloaded(_forks(), runs, argv, log)
        started = [str(executable or self._program('nova-compute')[0])]
        if program is not None:
            # Its directory may have modules of the same name.
            started = [*self._program('python'), '-P', str(program)]
        return lambda log: Process([*started, *files], log)

    def manage(self, *words: str) -> Process:
        """Run ``nova-manage`` to its end; the result has its output."""
        done = Process(
            [
                *(*self._program('nova-manage'), '--config-file'),
                *(str(self._config), *words),
            ],
            self.directory / 'manage.log',
        )
        done.log.unlink(missing_ok=True)
        done.start().wait()
        return done

    def map_hosts(self) -> None:
        """Map every nova-compute to the cell, as ``discover_hosts`` does."""
        self.database.query(
            f'INSERT INTO {nova_schema.API}.host_mappings '
            '(created_at, cell_id, host) SELECT NOW(), c.id, s.host '
            f'FROM {nova_schema.API}.cell_mappings AS c '
            f'JOIN {nova_schema.CELL1}.services AS s '
            f"WHERE c.name = 'cell1' AND s.binary = 'nova-compute' "
            'AND s.deleted = 0 AND s.host NOT IN '
            f'(SELECT host FROM {nova_schema.API}.host_mappings)'
        )

    def services(self) -> list[dict[str, Any]]:
        """Return the rows of services that are not deleted."""
        return self.rows(
            'id, host, `binary`, disabled, forced_down, report_count, uuid',
            'services WHERE deleted = 0',
        )

    def compute_nodes(self) -> dict[str, str]:
        """Return the host of each compute node that is not deleted."""
        found = self.rows(
            'uuid, host', 'compute_nodes WHERE deleted = 0 ORDER BY uuid'
        )
        return {row['uuid']: row['host'] for row in found}

    def rows(self, columns: str, source: str) -> list[dict[str, Any]]:
        """Return rows of the first cell.

        :param columns: of a SELECT; their names are the keys.
        :param source: what follows FROM.
        """
        names = [
            column.split(' AS ')[-1].split('.')[-1].strip(' `')
            for column in columns.split(',')
        ]
        found = self.database.query(
            f'SELECT {columns} FROM {nova_schema.CELL1}.{source}'
        )
        return [dict(zip(names, row, strict=True)) for row in found]

    def clear(self) -> None:
        """Forget every nova-compute, compute node, instance and provider.

        No nova-compute may run.
        """
        query = self.database.query
        for table in ('build_requests', 'instance_mappings', 'host_mappings'):
            query(f'DELETE FROM {nova_schema.API}.{table}')
        query('SET GLOBAL foreign_key_checks = 0')
        for table in _OF_INSTANCES:
            query(f'DELETE FROM {nova_schema.CELL1}.{table}')
        query('SET GLOBAL foreign_key_checks = 1')
        query(
            f'DELETE FROM {nova_schema.CELL1}.services '
            "WHERE `binary` = 'nova-compute'"
        )
        self.placement.clear()

    def wait_for_hosts(
        self, expected: Mapping[str, str], *, timeout: float = 180
    ) -> None:
        """Wait until exactly these compute nodes have these hosts."""
        wait_for(
            lambda: self.compute_nodes() == dict(expected),
            'wanted hosts of the compute nodes',
            timeout=timeout,
        )

    def stop(self) -> None:
        """End everything that runs."""
        for compute in self._computes:
            compute.kill()
        for name in list(self._services):
            self._services.pop(name).kill()
        self.api.stop()
        self.neighbours.stop()
        self.placement.stop()
        self.bus.stop()
        self.database.stop()

    @staticmethod
    def _program(name: str) -> list[str]:
        return [str(nova_environment.stock() / 'bin' / name)]


def _forks() -> preloaded.Forks:
    # With the driver, also if the first one has that of Nova.
    python = nova_environment.with_driver() / 'bin' / 'python'
    return preloaded.shared(python, _IMPORTS)


def _at_the_same_time(*calls: Callable[[], object]) -> None:
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        for begun in [pool.submit(call) for call in calls]:
            begun.result()
