"""A real Ironic: API and conductor in one process, on SQLite.

Enough for all that is not about the liveness of conductors, which Ironic does
not track on SQLite. Its hardware is fake and its API knows no users. One
writer at a time: Ironic on SQLite answers parallel writes with errors.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import sqlite3
import threading
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from lab import process, venvs

if TYPE_CHECKING:
    from openstack import connection as sdk

REQUIREMENTS = ('ironic==39.0.0', 'PyMySQL>=1.1.0')
MICROVERSION = '1.82'
_CONFIGURATION = """\
[DEFAULT]
auth_strategy = noauth
rpc_transport = none
host = conductor-1
my_ip = 127.0.0.1
enabled_hardware_types = fake-hardware
enabled_bios_interfaces = fake,no-bios
enabled_boot_interfaces = fake
enabled_console_interfaces = fake,no-console
enabled_deploy_interfaces = fake
enabled_firmware_interfaces = fake,no-firmware
enabled_inspect_interfaces = fake,no-inspect
enabled_management_interfaces = fake,noop
enabled_network_interfaces = noop
enabled_power_interfaces = fake
enabled_raid_interfaces = fake,no-raid
enabled_rescue_interfaces = fake,no-rescue
enabled_storage_interfaces = noop
enabled_vendor_interfaces = fake,no-vendor
state_path = {directory}
[database]
connection = sqlite:///{directory}/ironic.db
[api]
host_ip = 127.0.0.1
port = {port}
api_workers = 1
[conductor]
automated_clean = false
[oslo_concurrency]
lock_path = {directory}/lock
"""


class Ironic:
    """One Ironic with its files in one directory.

    :param directory: made if missing; what is found there is used again.
    :param port: where to listen on 127.0.0.1; a free port if not given.
    """

    def __init__(
        self, directory: pathlib.Path, *, port: int | None = None
    ) -> None:
        self.directory = directory.absolute()
        self.port = port or process.free_port()
        self.database = self.directory / 'ironic.db'
        self.writing = threading.RLock()
        self._process: process.Process | None = None
        self._connection: sdk.Connection | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def endpoint(self) -> str:
        """URL of the API."""
        return f'http://127.0.0.1:{self.port}'

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None:
            raise process.LabError('Ironic was not started')
        return self._process.pid

    def start(self) -> None:
        """Start Ironic and wait until its API answers and it can work.

        Also starts it again, on the same port and with the same nodes; one
        that runs is left alone.

        :raises LabError: with the end of its log, if it does not start.
        """
        if self._process is not None and self._process.returncode is None:
            return
        binaries = venvs.ensure('ironic', REQUIREMENTS) / 'bin'
        self.directory.mkdir(parents=True, exist_ok=True)
        config = self.directory / 'ironic.conf'
        config.write_text(
            _CONFIGURATION.format(directory=self.directory, port=self.port)
        )
        log = self.directory / 'ironic.log'
        if not self.database.exists():
            self._create_schema(binaries, config, log)
        self._process = process.Process(
            [str(binaries / 'ironic'), '--config-file', str(config)], log
        ).start()
        try:
            self._process.wait_until(
                lambda: process.answers_tcp(self.port) and self._works(),
                'an answer of Ironic',
            )
        except process.LabError:
            self.kill()
            raise

    def _create_schema(
        self, binaries: pathlib.Path, config: pathlib.Path, log: pathlib.Path
    ) -> None:
        dbsync = process.Process(
            [
                *(str(binaries / 'ironic-dbsync'), '--config-file'),
                *(str(config), 'create_schema'),
            ],
            log,
        ).start()
        if dbsync.wait():
            self.database.unlink(missing_ok=True)
            raise process.LabError(f'Ironic has no database: {dbsync.tail()}')

    def _works(self) -> bool:
        from keystoneauth1 import exceptions

        try:
            answer = self.adapter().get('/drivers', raise_exc=False)
        except exceptions.ClientException:
            self._connection = None
            return False
        return bool(answer.ok and answer.json()['drivers'])

    def stop(self) -> None:
        """Stop Ironic; its nodes stay on disk."""
        if self._process is not None:
            self._process.stop()
        self.kill()

    def kill(self) -> None:
        """Kill Ironic, as a crash would."""
        running, self._process = self._process, None
        if running is None:
            return
        # The worker is a child of the process that we started, and would
        # go on answering for a while.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.kill()

    def connection(self) -> sdk.Connection:
        """Return a connection of openstacksdk to this Ironic."""
        import openstack

        return openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            auth_type='none',
            auth={'endpoint': self.endpoint},
        )

    def adapter(self) -> Any:
        """Return an adapter for raw requests, kept for the next call."""
        if self._connection is None:
            self._connection = self.connection()
        return self._connection.baremetal

    def request(
        self, method: str, path: str, *, json: Any = None
    ) -> dict[str, Any]:
        """Send one request that changes something; one at a time.

        :param path: what follows ``/v1``.
        :returns: the JSON of the answer; empty if there was none.
        :raises LabError: with Ironic's own text, if it refuses.
        """
        with self.writing:
            answer = self.adapter().request(
                path,
                method,
                json=json,
                microversion=MICROVERSION,
                raise_exc=False,
                retriable_status_codes=(409, 503),
                status_code_retries=5,
                connect_retries=1,
            )
        if not answer.ok:
            raise process.LabError(
                f'Ironic refused {method} {path}: '
                f'{answer.status_code} {answer.text}'
            )
        return dict(answer.json()) if answer.content else {}

    @contextlib.contextmanager
    def sql(self) -> Iterator[sqlite3.Connection]:
        """Give a transaction on Ironic's own database, beside the API."""
        with self.writing:
            connection = sqlite3.connect(self.database, timeout=60)
            connection.row_factory = sqlite3.Row
            try:
                connection.execute('BEGIN IMMEDIATE')
                yield connection
                connection.commit()
            finally:
                connection.close()
