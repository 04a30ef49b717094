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

from lab import nova_config, process, service

MICROVERSION = '2.93'
_HEADERS = {
    'X-User-Id': 'admin',
    'X-Project-Id': 'admin',
    'X-Roles': 'admin,member,reader',
    'X-Auth-Token': 'lab',
    'Content-Type': 'application/json',
    'OpenStack-API-Version': f'compute {MICROVERSION}',
}
_KEYSTONE = ' authtoken keystonecontext '
_GUNICORN = """\
bind = '127.0.0.1:{port}'
threads = 2
timeout = 120
wsgi_app = 'nova.wsgi.osapi_compute:application'
"""


class NovaAPI(service.Service):
    """One API; :meth:`configure` before the start."""

    title = 'nova-api'
    _binaries: pathlib.Path

    def configure(
        self, venv: pathlib.Path, *layers: nova_config.Sections
    ) -> None:
        """Write the files of its configuration."""
        self._binaries = venv / 'bin'
        self.directory.mkdir(exist_ok=True)
        nova_config.write(self.directory / 'nova.conf', *layers)
        paste = (venv / 'etc' / 'nova' / 'api-paste.ini').read_text()
        (self.directory / 'api-paste.ini').write_text(
            paste.replace(_KEYSTONE, ' keystonecontext ')
        )
        (self.directory / 'gunicorn.conf.py').write_text(
            _GUNICORN.format(port=self.port)
        )

    def _prepare(self) -> process.Process:
        settings = self.directory / 'gunicorn.conf.py'
        return process.Process(
            [str(self._binaries / 'gunicorn')],
            self.directory / 'nova-api.log',
            env={
                # Nova would parse the arguments of its server.
                'GUNICORN_CMD_ARGS': f'--config {settings}',
                'OS_NOVA_CONFIG_DIR': str(self.directory),
            },
        )

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
