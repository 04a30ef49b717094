"""The demonstration: a real Ironic, three services, one of them killed.

A few hundred nodes are shared by three services. After one service is killed,
its free nodes are taken over and its deployed nodes stay. All output comes
from the project's own commands.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from lab import enrolment, ironic, process
from lab.quickstart import console

HOSTS = ('host1', 'host2', 'host3')
SHARDS = ('shard1', 'shard2', 'shard3')
GROUPS = ('rack-a', 'rack-b')
NODES_EACH = 50
_DEPLOYED_EACH = 0.2
_TIMEOUT = 120.0
_DEGRADED = 4
"""Exit status of ``overview`` while something is wrong."""

_CONFIGURATION = """\
[DEFAULT]
host = {host}
state_path = {directory}
[ownership]
policies = peer_list
refresh_interval = 5
[membership]
heartbeat_interval = 2
member_ttl = 8
[ironic]
auth_type = none
endpoint_override = {endpoint}
"""

_NEXT = """
Try next, with everything still running (./tools/quickstart --keep):
  .venv/bin/ironic-ownership --config-file {config} compute node list
  ... compute node list --shard shard1 --service host2 --long
  ... compute node list -f json
  ... member list
and end it with ./tools/quickstart --stop."""


class Demonstration:
    """One run, with its files in one directory.

    :param directory: an empty directory for everything.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.transcript: list[str] = []
        self.ironic = ironic.Ironic(directory / 'ironic')
        self.hosts: dict[str, process.Process] = {}
        self.console: Sequence[process.Process] = ()

    def run(self) -> None:
        """Run all steps.

        :raises LabError: if a step fails.
        """
        self.say('Starting Ironic, the released package with fake hardware.')
        self.ironic.start()
        nodes = enrolment.Enrolment(self.ironic)
        nodes.enrol(0)
        self.say(f'Starting three services: {", ".join(HOSTS)}.')
        self.start_hosts()
        self.enrol(nodes)
        self.wait_until(lambda: self.owned() == self.total, 'all nodes owned')
        self.say('Every node has an owner:')
        columns = ('Host', 'Alive', 'Status', 'Nodes', 'Instances')
        options = [word for name in columns for word in ('-c', name)]
        self.show('service', 'list', *options)
        before = self.services()['host1']
        self.say('Killing host1 with SIGKILL.')
        self.hosts['host1'].kill()
        killed = time.monotonic()
        stay = before['instances']
        self.wait_until(
            lambda: self.services()['host1']['nodes'] == stay,
            'the free nodes of host1 taken over',
        )
        seconds = time.monotonic() - killed
        self.say(
            f'After {seconds:.1f} s all {before["nodes"] - stay} free nodes '
            f'of host1 are taken over. The {stay} with an instance stay:'
        )
        self.wait_until(
            lambda: len(self.findings()) == 1, 'a report of new members'
        )
        self.show('overview', '--check', status=_DEGRADED)
        self.show(
            *('compute', 'node', 'list', '--service', 'host1'),
            *('--shard', 'shard1', '--conductor-group', 'rack-a'),
            *('-c', 'Name', '-c', 'Service', '-c', 'State', '-c', 'Reason'),
        )
        self.say(_NEXT.format(config=self._show_path('host2')))

    @property
    def total(self) -> int:
        """The number of nodes."""
        return NODES_EACH * len(SHARDS) * len(GROUPS)

    def enrol(self, nodes: enrolment.Enrolment) -> None:
        """Add the nodes, in every shard and group."""
        for shard in SHARDS:
            for group in GROUPS:
                nodes.enrol(
                    NODES_EACH,
                    shard=shard,
                    conductor_group=group,
                    instance_share=_DEPLOYED_EACH,
                    prefix=f'{shard}-{group}',
                    same_every_time=True,
                )
        self.say(
            f'Enrolled {self.total} nodes, copies of one that Ironic made '
            f'available: {len(SHARDS)} shards, {len(GROUPS)} conductor '
            'groups, every fifth node with an instance.'
        )

    def start_hosts(self) -> None:
        """Start the services, and wait until each one sees all of them."""
        for host in HOSTS:
            config = self._config(host)
            config.write_text(
                _CONFIGURATION.format(
                    host=host,
                    directory=self.directory,
                    endpoint=self.ironic.endpoint,
                )
            )
            program = _bin('ironic-ownership-host')
            self.hosts[host] = process.Process(
                [program, '--config-file', str(config)],
                self.directory / f'{host}.log',
            ).start()
        # A service that does not know the others yet claims nodes of theirs,
        # and keeps those with an instance.
        self.wait_until(self.agreed, 'services that all see each other')

    def start_console(self) -> None:
        """Start the HTTP service and the console, and show the address.

        :raises LabError: if one of them does not start.
        """
        url, self.console = console.start(
            self.directory, self._config(HOSTS[1])
        )
        self.say(f'The console is at {url}')

    def stop(self) -> None:
        """End everything that runs."""
        for child in (*self.hosts.values(), *self.console):
            child.stop()
        self.ironic.stop()

    def pids(self) -> list[int]:
        """Return the process ids of everything that runs."""
        children = (*self.hosts.values(), *self.console)
        running = [one.pid for one in children if one.returncode is None]
        return [*running, self.ironic.pid]

    def services(self) -> dict[str, dict[str, Any]]:
        """Return the rows of ``service list`` by host."""
        return {row['host']: row for row in self._json('service', 'list')}

    def findings(self) -> list[Any]:
        """Return what is wrong after the kill."""
        words = ('overview', '--check', '-f', 'json')
        found: list[Any] = json.loads(self._command(*words, status=_DEGRADED))[
            'findings'
        ]
        return found

    def agreed(self) -> bool:
        """Return whether all services have reported the same members."""
        views = {
            json.loads(self._command('service', 'show', host, '-f', 'json'))[
                'view_checksum'
            ]
            for host in HOSTS
        }
        return len(views) == 1 and None not in views

    def owned(self) -> int:
        """Return how many nodes have an owner."""
        return sum(row['nodes'] for row in self.services().values())

    def show(self, *words: str, status: int = 0) -> None:
        """Show a command and its output, as an operator sees them.

        :param status: its exit status.
        """
        self.say(f'$ ironic-ownership {" ".join(words)}')
        self.say(self._command(*words, status=status).rstrip())

    def wait_until(self, ready: Callable[[], bool], what: str) -> None:
        """Wait for a result of the services.

        A command that fails is asked again: until the first service has
        made the database, each of them does.

        :raises LabError: after the time-out.
        """
        deadline = time.monotonic() + _TIMEOUT
        while True:
            reason = ''
            try:
                if ready():
                    return
            except process.LabError as error:
                reason = f': {error}'
            if time.monotonic() > deadline:
                raise process.LabError(
                    f'no {what} after {_TIMEOUT:g} s; see '
                    f'{self.directory}{reason}'
                )
            time.sleep(0.2)

    def say(self, text: str) -> None:
        """Print, and add to the transcript."""
        print(text, flush=True)
        self.transcript.append(text)

    def _config(self, host: str) -> pathlib.Path:
        return self.directory / f'{host}.conf'

    def _show_path(self, host: str) -> pathlib.Path:
        path, here = self._config(host), pathlib.Path.cwd()
        return path.relative_to(here) if path.is_relative_to(here) else path

    def _json(self, *words: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(
            self._command(*words, '-f', 'json')
        )
        return rows

    def _command(self, *words: str, status: int = 0) -> str:
        argv = [
            _bin('ironic-ownership'),
            '--config-file',
            str(self._config(HOSTS[1])),
            *words,
        ]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False
        )
        if done.returncode != status:
            raise process.LabError(
                f'{" ".join(argv)} ended with {done.returncode}: '
                f'{done.stderr.strip()}'
            )
        return done.stdout


def _bin(name: str) -> str:
    return str(pathlib.Path(sys.executable).with_name(name))
