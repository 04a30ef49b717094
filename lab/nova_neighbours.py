"""Stand-ins for Neutron and Glance: only what Nova insists on at a boot.

They are no Neutron and no Glance. Servers are booted without a network, from
the one image that exists; nothing is stored.
"""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from lab import http_server

IMAGE = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'
"""UUID of the image."""

_IMAGE: dict[str, Any] = {
    'id': IMAGE,
    'name': 'lab',
    'status': 'active',
    'visibility': 'public',
    'owner': 'admin',
    'protected': False,
    'container_format': 'bare',
    'disk_format': 'qcow2',
    'size': 1,
    'checksum': '0' * 32,
    'min_disk': 0,
    'min_ram': 0,
    'tags': [],
    'created_at': '2020-01-01T00:00:00Z',
    'updated_at': '2020-01-01T00:00:00Z',
    'file': f'/v2/images/{IMAGE}/file',
    'schema': '/v2/schemas/image',
    'self': f'/v2/images/{IMAGE}',
}
_ANSWERS: dict[str, Any] = {
    f'/v2/images/{IMAGE}': _IMAGE,
    '/v2/schemas/image': {
        'name': 'image',
        'properties': {name: {} for name in _IMAGE},
        'additionalProperties': True,
    },
}
_NEUTRON = '/v2.0/'


class Neighbours(http_server.Server):
    """One HTTP server for both, in threads of this process.

    :ivar unknown: requests to which it had no answer, for failing tests.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        super().__init__(self._serve)

    def _serve(self, request: http_server.Request) -> http_server.Answer:
        status, body = self._answer(request.method, request.path)
        as_json = [('Content-Type', 'application/json')]
        return status, as_json, json.dumps(body).encode()

    def _answer(self, method: str, url: str) -> tuple[int, Any]:
        path = urllib.parse.urlsplit(url).path
        if method == 'GET':
            if path in _ANSWERS:
                return 200, _ANSWERS[path]
            if path.startswith(_NEUTRON):
                # There is no network, no port and no extension.
                kind = path.removeprefix(_NEUTRON).split('.')[0]
                return 200, {kind.replace('-', '_'): []}
        self.unknown.append(f'{method} {url}')
        return 404, {'message': f'the stand-in has no {path}'}
