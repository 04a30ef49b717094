"""The API of a Nova, on gunicorn and without Keystone.

A request has the headers that Keystone's middleware would add for an
administrator.
"""

from __future__ import annotations

import json as json_
import pathlib
import urllib.error
import urllib.request
from typing import Any

from lab import nova_config, nova_neighbours, preloaded, process, service

MICROVERSION = '2.93'
_HEADERS = {
    'X-User-Id': 'admin',
    'X-Project-Id': 'admin',
    'X-Roles': 'admin,member,reader',
    'X-Auth-Token': 'lab',
    'Content-Type': 'application/json',
    'OpenStack-API-Version': f'compute {MICROVERSION}',
}
_FLAVOR = 'lab'
_KEYSTONE = ' authtoken keystonecontext '


class NovaAPI(service.Service):
    """One API; :meth:`configure` before the start."""

    title = 'nova-api'
    _binaries: pathlib.Path
    _forks: preloaded.Forks | None

    def configure(
        self,
        venv: pathlib.Path,
        *layers: nova_config.Sections,
        forks: preloaded.Forks | None = None,
    ) -> None:
        """Write the files of its configuration.

        :param forks: starts it; otherwise its program is started.
        """
        self._binaries, self._forks = venv / 'bin', forks
        self.directory.mkdir(exist_ok=True)
        nova_config.write(self.directory / 'nova.conf', *layers)
        paste = (venv / 'etc' / 'nova' / 'api-paste.ini').read_text()
        (self.directory / 'api-paste.ini').write_text(
            paste.replace(_KEYSTONE, ' keystonecontext ')
        )

    def _prepare(self) -> process.Process:
        argv = [str(self._binaries / 'gunicorn')]
        log = self.directory / 'nova-api.log'
        env = {
            **self._gunicorn('nova.wsgi.osapi_compute:application'),
            'OS_NOVA_CONFIG_DIR': str(self.directory),
        }
        if self._forks is not None:
            run = 'gunicorn.app.wsgiapp:run'
            return preloaded.Preloaded(self._forks, run, argv, log, env=env)
        return process.Process(argv, log, env=env)

    def _works(self) -> bool:
        try:
            return bool(self.request('GET', '/flavors') is not None)
        except process.LabError:
            return False

    def send(
        self, method: str, path: str, json: Any = None
    ) -> tuple[int, dict[str, Any]]:
        """Send one request.

        :param path: the path below ``/v2.1``.
        :returns: the status, and the JSON of the answer.
        """
        request = urllib.request.Request(
            f'{self.endpoint}/v2.1{path}',
            None if json is None else json_.dumps(json).encode(),
            _HEADERS,
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                text = answer.read()
                return answer.status, json_.loads(text) if text else {}
        except urllib.error.HTTPError as exc:
            return exc.code, {'error': exc.read().decode()}
        except OSError as exc:
            raise process.LabError(f'nova-api: {exc}') from exc

    def request(self, method: str, path: str, json: Any = None) -> Any:
        """Send one request that has to succeed.

        :raises LabError: with Nova's own text, if it refuses.
        """
        status, body = self.send(method, path, json)
        if status >= 300:
            raise process.LabError(
                f'Nova refused {method} {path}: {status} {body}'
            )
        return body

    def boot(self, name: str, node: str | None = None) -> str:
        """Request a server on a free node; return its UUID at once.

        :param node: UUID of the node; any by default.
        """
        if self.send('GET', f'/flavors/{_FLAVOR}')[0] == 404:
            self._create_flavor()
        body = {
            'name': name,
            'flavorRef': _FLAVOR,
            'imageRef': nova_neighbours.IMAGE,
            'networks': 'none',
        }
        if node is not None:
            body['hypervisor_hostname'] = node
        made = self.request('POST', '/servers', {'server': body})
        return str(made['server']['id'])

    def server(self, uuid: str) -> dict[str, Any]:
        """Return a server; empty if there is none."""
        status, body = self.send('GET', f'/servers/{uuid}')
        return dict(body['server']) if status == 200 else {}

    def wait_for_server(
        self, uuid: str, state: str, *, timeout: float = 180
    ) -> dict[str, Any]:
        """Wait until a server has a state and no task; return it.

        :param state: ``ACTIVE`` for example; empty until it is gone.
        :raises LabError: if the time is up, or it is in error.
        """
        found: dict[str, Any] = {}

        def arrived() -> bool:
            found.clear()
            found.update(self.server(uuid))
            now = found.get('status', '')
            if now == 'ERROR' and state != 'ERROR':
                raise process.LabError(f'server in error: {found}')
            return now == state and not found.get('OS-EXT-STS:task_state')

        process.wait_for(
            arrived, f'state {state or "gone"} of {uuid}', timeout=timeout
        )
        return found

    def reboot(self, uuid: str) -> None:
        """Request a hard reboot; it is done by the server's service."""
        self.request(
            'POST', f'/servers/{uuid}/action', {'reboot': {'type': 'HARD'}}
        )

    def delete(self, uuid: str) -> None:
        """Delete a server and wait until it is gone."""
        self.request('DELETE', f'/servers/{uuid}')
        self.wait_for_server(uuid, '')

    def _create_flavor(self) -> None:
        self.request(
            'POST',
            '/flavors',
            {
                'flavor': {
                    'id': _FLAVOR,
                    'name': _FLAVOR,
                    'vcpus': 1,
                    'ram': 1,
                    'disk': 1,
                }
            },
        )
        # A node is one unit of its resource class, and nothing else.
        self.request(
            'POST',
            f'/flavors/{_FLAVOR}/os-extra_specs',
            {
                'extra_specs': {
                    'resources:CUSTOM_BAREMETAL': '1',
                    'resources:VCPU': '0',
                    'resources:MEMORY_MB': '0',
                    'resources:DISK_GB': '0',
                }
            },
        )
