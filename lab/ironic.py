"""A real Ironic: API and conductor in one process, on SQLite.

On SQLite Ironic does not track the liveness of conductors; see ``conductors``
for that. The hardware is fake, the API has no authentication. One writer at a
time: Ironic on SQLite answers parallel writes with errors.
"""

from __future__ import annotations

import contextlib
import pathlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from lab import ironic_api, process, venvs

_CONFIGURATION = (
    ironic_api.CONFIGURATION
    + """\
rpc_transport = none
host = conductor-1
enabled_hardware_types = fake-hardware
enabled_boot_interfaces = fake
enabled_deploy_interfaces = fake
state_path = {directory}
[database]
connection = sqlite:///{directory}/ironic.db
# The data need not survive a power cut.
sqlite_synchronous = false
[api]
host_ip = 127.0.0.1
port = {port}
api_workers = 1
[conductor]
automated_clean = false
# There is no heartbeat on SQLite: the conductor would soon count as dead.
heartbeat_timeout = 86400
# It would read the power state of every node, and with ten thousand of them
# use a processor that tests and benchmarks need.
sync_power_state_interval = 0
# Deployed nodes that were written into its database have no conductor. It
# would lock each of them to take it over, and the code under test refuses a
# node that a conductor has locked.
sync_local_state_interval = 0
[oslo_concurrency]
lock_path = {directory}/lock
"""
)

_TOUCH = """\
CREATE TEMP TRIGGER touch AFTER UPDATE ON main.nodes
WHEN NEW.updated_at IS OLD.updated_at
BEGIN
    UPDATE nodes SET updated_at = strftime('%Y-%m-%d %H:%M:%f000', 'now')
    WHERE id = NEW.id;
END
"""


class Ironic(ironic_api.IronicAPI):
    """One Ironic with its files in one directory.

    :param directory: created if missing; existing files are used again.
    :param port: where to listen on 127.0.0.1; a free port if not given.
    :param middleware: its options; the next start takes changes.
    :param environment: variables of its process, if it does not preload.
    :param preloads: whether it is a fork of a process in which all imports
        are done: see ``preloaded``. Such a one is not known by its name.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        *,
        port: int | None = None,
        middleware: ironic_api.Middleware = None,
        environment: Mapping[str, str] | None = None,
        preloads: bool = False,
    ) -> None:
        super().__init__(directory, port=port)
        self._environment = environment
        self._preloads = preloads
        self.middleware = middleware
        self.database = self.directory / 'ironic.db'
        self.writing = threading.RLock()

    def request(
        self, method: str, path: str, *, json: Any = None
    ) -> dict[str, Any]:
        """Send one request that changes something; one at a time."""
        with self.writing:
            return super().request(method, path, json=json)

    @contextlib.contextmanager
    def sql(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction on Ironic's own database, past the API.

        Nodes that it changes get the time of a change, as from Ironic.
        """
        with self.writing:
            connection = sqlite3.connect(self.database, timeout=60)
            connection.row_factory = sqlite3.Row
            try:
                connection.execute(_TOUCH)
                connection.execute('BEGIN IMMEDIATE')
                yield connection
                connection.commit()
            finally:
                connection.close()

    def _prepare(self) -> process.Process:
        binaries = ironic_api.environment(self.middleware) / 'bin'
        config = self.directory / 'ironic.conf'
        text = _CONFIGURATION.format(directory=self.directory, port=self.port)
        config.write_text(text + ironic_api.middleware_text(self.middleware))
        log = self.directory / 'ironic.log'
        words = ['--config-file', str(config)]
        venvs.copy_or_make(
            binaries.with_name('schema.db'),
            self.database,
            [str(binaries / 'ironic-dbsync'), *words, 'create_schema'],
        )
        if self._preloads:
            venv = binaries.parent
            return ironic_api.program(venv, 'singleprocess', words, log)
        return process.Process(
            [str(binaries / 'ironic'), *words], log, env=self._environment
        )

    def _works(self) -> bool:
        from keystoneauth1 import exceptions

        try:
            answer = self.adapter().get('/drivers', raise_exc=False)
        except exceptions.ClientException:
            self._connection = None
            return False
        return bool(answer.ok and answer.json()['drivers'])
