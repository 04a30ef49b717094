"""A real Ironic with several conductors, each a process that can be killed.

An API and conductors that talk by JSON-RPC, on a MariaDB, which is where
Ironic tracks live conductors. Its hardware is fake, its API has no
authentication.
"""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable

from lab import ironic_api
from lab.process import LabError, Process, free_port, output

HEARTBEAT_TIMEOUT = 15
"""Seconds after which Ironic declares a silent conductor dead."""

_CONFIGURATION = (
    ironic_api.CONFIGURATION
    + """\
rpc_transport = json-rpc
enabled_boot_interfaces = fake,pxe
enabled_deploy_interfaces = fake,direct
state_path = {directory}
[database]
connection = {url}?charset=utf8mb4
[api]
host_ip = 127.0.0.1
port = {port}
api_workers = 1
[json_rpc]
auth_strategy = noauth
host_ip = 127.0.0.1
[conductor]
automated_clean = false
heartbeat_interval = 3
heartbeat_timeout = {timeout}
# It would lock each node once a minute, and the code under test leaves a node
# that a conductor has locked to the next request.
sync_power_state_interval = 0
[oslo_concurrency]
lock_path = {directory}/lock
"""
)
_OF_ONE = """\
[DEFAULT]
host = 127.0.0.1
enabled_hardware_types = {drivers}
[json_rpc]
port = {port}
[conductor]
conductor_group = {group}
"""


class Conductor:
    """One conductor; made by :meth:`Conductors.add`.

    :ivar hostname: the name under which Ironic lists it.
    """

    def __init__(self, make: Callable[[], Process], port: int) -> None:
        self.hostname = f'127.0.0.1:{port}'
        self._make = make
        self._process: Process | None = None

    def start(self) -> None:
        """Start it, for the first time or again, and do not wait for it."""
        self._process = self._make().start()

    def stop(self) -> None:
        """Stop it cleanly: it deregisters from Ironic."""
        if self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        """Kill it, as in a crash: Ironic detects the missing heartbeats."""
        if self._process is not None:
            self._process.kill()

    @property
    def process(self) -> Process:
        """The running process."""
        if self._process is None:
            raise LabError(f'{self.hostname} was not started')
        return self._process


class Conductors(ironic_api.IronicAPI):
    """One Ironic: its API, and any number of conductors.

    There is none when it starts.

    :param directory: made if missing.
    :param url: of an empty database on MariaDB.
    """

    def __init__(self, directory: pathlib.Path, url: str) -> None:
        super().__init__(directory)
        self._url = url
        self._conductors: list[Conductor] = []

    def _prepare(self) -> Process:
        config = self.directory / 'ironic.conf'
        config.write_text(
            _CONFIGURATION.format(
                directory=self.directory,
                url=self._url,
                port=self.port,
                timeout=HEARTBEAT_TIMEOUT,
            )
        )
        dbsync = ironic_api.environment() / 'bin' / 'ironic-dbsync'
        output([dbsync, '--config-file', config, 'create_schema'])
        return self._program('api')

    def _works(self) -> bool:
        return True  # without a conductor no further request would succeed

    def add(self, *drivers: str, group: str = '') -> Conductor:
        """Start another conductor, and do not wait for it.

        :param drivers: its hardware types.
        :param group: its conductor group.
        """
        port = free_port()
        config = self.directory / f'conductor-{port}.conf'
        config.write_text(
            _OF_ONE.format(drivers=','.join(drivers), port=port, group=group)
        )
        made = Conductor(
            functools.partial(self._program, 'conductor', config), port
        )
        self._conductors.append(made)
        made.start()
        return made

    def wait_until_alive(self, *conductors: Conductor) -> None:
        """Wait until Ironic lists these as alive."""
        for one in conductors:
            one.process.wait_until(
                functools.partial(self._lives, one),
                'life on the list of conductors',
            )

    def _lives(self, conductor: Conductor) -> bool:
        return self.alive().get(conductor.hostname, False)

    def alive(self) -> dict[str, bool]:
        """Return which conductors Ironic lists as alive, by name."""
        listed = self.request('GET', '/conductors')['conductors']
        return {one['hostname']: one['alive'] for one in listed}

    def stop(self) -> None:
        """Stop everything that runs."""
        for one in self._conductors:
            one.kill()
        super().stop()

    def _program(self, module: str, *more: pathlib.Path) -> Process:
        files = [self.directory / 'ironic.conf', *more]
        return ironic_api.program(
            ironic_api.environment(),
            module,
            [f'--config-file={path}' for path in files],
            self.directory / f'{files[-1].stem}.log',
        )
