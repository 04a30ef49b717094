"""Requests to the middleware, and an Ironic that answers each of them."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from werkzeug import test, wrappers

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.request_header import HEADER, Claim
from ironic_ownership_middleware.decision import NodeRow, ServiceRow
from ironic_ownership_middleware.records import Answer

KEY = 'k' * 32
UUID = '11111111-2222-4333-8444-555555555555'
NOW = 1_700_000_000
PATH = f'/v1/nodes/{UUID}'


def environ(
    method: str = 'PATCH',
    url: str = PATH,
    header: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the environment of one request."""
    headers = {} if header is None else {HEADER: header}
    builder = test.EnvironBuilder(url, method=method, headers=headers)
    return builder.get_environ() | more


def signed(
    method: str = 'PATCH',
    url: str = PATH,
    *,
    service: str = 'host1',
    epoch: int = 7,
    node: str = '',
    key: str = KEY,
    time: int = NOW,
    **more: Any,
) -> dict[str, Any]:
    """Return the environment of a request with a header."""
    claim = Claim(service, epoch, node, time)
    return environ(method, url, claim.header(key, method, url), **more)


class Response(wrappers.Response):
    """The answer to one request."""

    @property
    def fault(self) -> Any:
        """The error, as clients of Ironic read it."""
        return json.loads(self.get_json()['error_message'])


def ask(application: Any, request: dict[str, Any]) -> Response:
    """Send one request."""
    return Response(*test.run_wsgi_app(application, request))


class Ironic:
    """Accepts everything, and keeps it."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any], start: Any) -> list[bytes]:
        self.received.append(request)
        start('202 Accepted', [])
        return [b'{}']


class Records:
    """Records of one service with one node, which count their queries."""

    def __init__(self) -> None:
        self.queries: list[tuple[str, set[str], set[str]]] = []
        self.service: ServiceRow | None = ServiceRow(7, False, False)
        self.nodes: list[NodeRow] = [NodeRow(UUID, 'rack1', 'host1')]
        self.error: exceptions.RecordsError | None = None

    def read(
        self, service: str, uuids: Collection[str], names: Collection[str]
    ) -> Answer:
        self.queries.append((service, set(uuids), set(names)))
        if self.error:
            raise self.error
        found = [
            node
            for node in self.nodes
            if node.uuid in uuids or node.name in names
        ]
        return self.service, found
