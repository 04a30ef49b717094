"""Caller of operations at the HTTP service."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from typing import Any, Protocol

from ironic_ownership.api import request
from ironic_ownership.api.caller import Caller
from ironic_ownership.api.operation import LIMIT, Operation
from ironic_ownership.engine.operations.caller import Progress, Stopping


class Client(Protocol):
    """The client of the HTTP service, as far as it is used here."""

    request_id: str

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request and return the body of the answer.

        :param path: with the query.
        :raises OwnershipError: for every answer that is an error.
        """


class RemoteCaller(Caller):
    """Calls the same operations over HTTP."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.request_id)
        self._client = client

    def _execute(
        self,
        operation: Operation,
        path: Mapping[str, str],
        query: dict[str, Any],
        body: Any,
        progress: Progress,
        stopping: Stopping,
    ) -> Any:
        limit = query.get('limit')
        if limit is not None:
            query['limit'] = min(limit, LIMIT.schema['maximum'])
        target = operation.path.format_map(
            {k: urllib.parse.quote(v, safe='') for k, v in path.items()}
        )
        full = _with_query(target, query)
        answer = self._client.send(operation.method, full, body)
        if isinstance(answer, dict) and 'next' in answer:
            return self._whole(target, answer, limit)
        return answer

    def _page(self, operation: Operation, query: Mapping[str, Any]) -> Any:
        return self._client.send(
            operation.method, _with_query(operation.path, query)
        )

    def _whole(
        self, target: str, page: dict[str, Any], limit: int | None
    ) -> Any:
        key = next(iter(page))
        items, warnings = list(page[key]), list(page['warnings'])
        while page['next'] and (limit is None or len(items) < limit):
            # Its path has a prefix that only a proxy knows.
            query = urllib.parse.urlsplit(page['next']).query
            page = self._client.send('GET', f'{target}?{query}')
            items += page[key]
            warnings += page['warnings']
        return {
            **page,
            key: items[:limit],
            'next': None,
            'warnings': list(dict.fromkeys(warnings)),
        }


def _with_query(target: str, query: Mapping[str, Any]) -> str:
    return f'{target}?{request.encoded(query)}' if query else target
