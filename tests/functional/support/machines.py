"""The machines of a runbook: their services, and an operator's shell."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import sys

from lab import enrolment, ironic, process
from tests.functional.support import hosts, programs, runbook

_PROGRAMS = pathlib.Path(sys.executable).parent
_FOR_A_SHELL = re.compile(r'[$`|&;<>*?~#()]').search
_WRAPPER = """\
#!/bin/sh
exec {program} --config-file {config} "$@"
"""


class Machines:
    """Runs the commands of a page on a real deployment."""

    def __init__(
        self, deployment: hosts.Deployment, server: ironic.Ironic
    ) -> None:
        self._deployment = deployment
        self._ironic = server
        self._configured: dict[str, runbook.Configuration] = {}
        self._running: dict[str, hosts.Host] = {}
        self._bin = deployment.directory / 'bin'
        self._bin.mkdir()
        config = deployment.directory / 'operator.conf'
        config.write_text(
            hosts.text_of(
                hosts.FAST,
                {
                    'DEFAULT': {'host': 'operator'},
                    'ownership': {'policies': 'all'},
                    **deployment._shared(),
                },
                deployment.more,
            )
        )
        program = _PROGRAMS / 'ironic-ownership'
        self._program = [str(program), '--config-file', str(config)]
        wrapper = self._bin / 'ironic-ownership'
        wrapper.write_text(_WRAPPER.format(program=program, config=config))
        wrapper.chmod(0o755)

    def configure(self, configuration: runbook.Configuration) -> None:
        """Write the file that a machine's service reads at its next start."""
        self._configured[configuration.host] = configuration

    def start_all(self) -> set[str]:
        """Start the services of all machines.

        :returns: their names.
        """
        for host in self._configured:
            self._systemctl(host, 'start')
        return set(self._configured)

    def run(self, command: runbook.Command) -> tuple[int, str]:
        """Run one command.

        :returns: its exit status, and what it printed.
        """
        words = shlex.split(command.text)
        if words[0] == 'ssh':
            _, host, _, verb, unit = words
            assert unit == 'ironic-ownership-host', unit
            self._systemctl(host, verb)
            return 0, ''
        if words[:2] == ['openstack', 'baremetal']:
            self._baremetal(words[3], words[4:])
            return 0, ''
        if words[0] == 'ironic-ownership' and not _FOR_A_SHELL(command.text):
            done = programs.run(
                [*self._program, *words[1:]], hosts.TIMEOUT, as_one=True
            )
            return done.returncode, done.stdout
        done = subprocess.run(
            ['bash', '-c', command.text],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=hosts.TIMEOUT,
            cwd='/',
            env={**os.environ, 'PATH': f'{self._bin}:{os.environ["PATH"]}'},
        )
        return done.returncode, done.stdout

    def _systemctl(self, host: str, verb: str) -> None:
        if verb == 'stop':
            running = self._running.pop(host, None)
            if running is not None:
                assert running.terminate() == 0, running.troubles()
            return
        assert verb == 'start', verb
        if host in self._running:
            return
        sections = {
            name: dict(options)
            for name, options in self._configured[host].sections.items()
        }
        self._running[host] = self._deployment.start(
            sections.pop('DEFAULT')['host'],
            sections.pop('ownership')['policies'],
            **sections,
        )

    def _baremetal(self, verb: str, words: list[str]) -> None:
        if verb == 'create':
            options = _options(words)
            options['resource_class'] = options.pop('resource-class')
            self._ironic.request(
                'POST',
                '/nodes',
                json={**options, 'properties': enrolment.PROPERTIES},
            )
            return
        name = words[0]
        path = f'/nodes/{name}'
        if verb in ('manage', 'provide'):
            self._ironic.request(
                'PUT', f'{path}/states/provision', json={'target': verb}
            )

            def settled() -> bool:
                node = self._ironic.request('GET', path)
                return not (
                    node['target_provision_state'] or node['reservation']
                )

            # As the client's ``--wait`` does.
            process.wait_for(settled, f'end of the work on {name}')
            return
        assert verb == 'set', verb
        changes = [
            {'op': 'add', 'path': f'/{option}', 'value': value}
            for option, value in _options(words[1:]).items()
        ]
        self._ironic.request('PATCH', path, json=changes)


def _options(words: list[str]) -> dict[str, str]:
    """Return what ``--name value`` pairs say; ``--wait`` has no value."""
    words = [word for word in words if word != '--wait']
    names, values = words[::2], words[1::2]
    return {
        name.removeprefix('--'): value
        for name, value in zip(names, values, strict=True)
    }


wait_until = process.wait_for
