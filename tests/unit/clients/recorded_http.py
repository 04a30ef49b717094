"""A server that behaves as a real Ironic cannot be made to.

It is old, broken or slow, changes its list at the worst moment, or is not
Ironic at all. Everything else is tested with a real one.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Any

from oslo_config import cfg

from ironic_ownership.clients import options as client_options
from ironic_ownership.clients.ironic import client
from ironic_ownership.conf.configuration import Configuration
from lab import http_server

Answer = tuple[int, dict[str, str], bytes]


def uuid(number: int) -> str:
    return f'00000000-0000-4000-8000-{number:012d}'


def fault(status: int, text: str) -> Answer:
    inner = json.dumps({'faultcode': 'Client', 'faultstring': text})
    return (
        status,
        {'X-OpenStack-Ironic-API-Version': '1.82'},
        json.dumps({'error_message': inner}).encode(),
    )


def page(text: str, status: int = 200) -> Answer:
    return status, {'Content-Type': 'text/html'}, text.encode()


class PlayedIronic(http_server.Server):
    """One server; each part of it can be replaced.

    :ivar nodes: the list of nodes, in order.
    :ivar lists: replacements for answers, by the number of a list request
        from 1; a ConnectionError ends the connection without an answer.
    :ivar conductors: the list of conductors, in order.
    :ivar everything: replacement for every answer.
    :ivar writes: answers to requests other than GET, by method and path.
    :ivar requests: (path, query) of each request.
    """

    def __init__(
        self,
        count: int = 0,
        *,
        maximum: str = '1.115',
        minimum: str = '1.1',
        max_limit: int = 1000,
    ) -> None:
        self.nodes: list[Any] = [{'uuid': uuid(i)} for i in range(count)]
        self.conductors: list[Any] = []
        self.versions = minimum, maximum
        self.max_limit = max_limit
        self.lists: dict[int, Callable[[], Answer]] = {}
        self.everything: Callable[[], Answer] | None = None
        self.writes: Callable[[str, str], Answer] = lambda method, path: fault(
            404, 'Not Found'
        )
        self.requests: list[tuple[str, dict[str, list[str]]]] = []
        super().__init__(self._serve)

    def _serve(self, request: http_server.Request) -> http_server.Answer:
        status, headers, body = (
            self.answer(request.path)
            if request.method == 'GET'
            else self.writes(request.method, request.path)
        )
        return status, headers.items(), body

    def answer(self, target: str) -> Answer:
        url = urllib.parse.urlsplit(target)
        query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
        self.requests.append((url.path, query))
        if self.everything is not None:
            return self.everything()
        if url.path == '/':
            return self._root()
        if url.path == '/v1/nodes':
            number = sum(path == '/v1/nodes' for path, _ in self.requests)
            return self.lists.get(number, lambda: self.list(query))()
        if url.path == '/v1/conductors':
            return self._page('conductors', self.conductors, 'hostname', query)
        if url.path.startswith('/v1/nodes/'):
            return self._node(url.path.rpartition('/')[2])
        return fault(404, 'Not Found')

    def _root(self) -> Answer:
        low, high = self.versions
        version = {'id': 'v1', 'min_version': low, 'version': high}
        return 200, {}, json.dumps({'default_version': version}).encode()

    def list(self, query: dict[str, list[str]]) -> Answer:
        return self._page('nodes', self.nodes, 'uuid', query)

    def _page(
        self,
        kind: str,
        rows: list[Any],
        name: str,
        query: dict[str, list[str]],
    ) -> Answer:
        limit = min(int(query['limit'][0]), self.max_limit)
        start = 0
        if 'marker' in query:
            marker = query['marker'][0]
            known = [r.get(name) if isinstance(r, dict) else r for r in rows]
            if marker not in known:
                return fault(404, f'Node {marker} could not be found.')
            start = 1 + known.index(marker)
        some = rows[start : start + limit]
        body: dict[str, Any] = {kind: some}
        if len(some) == limit:
            body['next'] = f'{self.url}/v1/{kind}?limit={limit}&marker=none'
        return 200, {}, json.dumps(body).encode()

    def _node(self, wanted: str) -> Answer:
        for node in self.nodes:
            if node['uuid'] == wanted:
                return 200, {}, json.dumps(node).encode()
        return fault(404, f'Node {wanted} could not be found.')


def open_ironic(
    url: str, on_request: Iterable[str] = (), **options: object
) -> client.IronicClient:
    conf = configuration(auth_type='none', endpoint_override=url, **options)
    return client_options.open_ironic(conf, on_request=lambda: on_request)


def configuration(**options: object) -> cfg.ConfigOpts:
    conf = Configuration()
    conf([], default_config_files=[], default_config_dirs=[])
    client_options.register_opts(conf, client_options.IRONIC)
    for name, value in options.items():
        conf.set_override(name, value, 'ironic')
    return conf
