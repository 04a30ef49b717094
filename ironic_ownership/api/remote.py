"""Caller of operations at the HTTP service."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from typing import Any, Protocol

from ironic_ownership.api import request, resources
from ironic_ownership.api.caller import NOTHING, check_names
from ironic_ownership.api.operation import LIMIT
from ironic_ownership.engine.operations.caller import (
    Progress,
    Stopping,
    never_stopping,
    no_progress,
)


class Client(Protocol):
    """The client of the HTTP service, as far as it is used here."""

    request_id: str

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request and return the body of the answer.

        :param path: with the query.
        :raises OwnershipError: for every answer that is an error.
        """


class RemoteCaller:
    """Calls the same operations over HTTP; see ``caller.Caller``."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.request_id = client.request_id

    def call(
        self,
        name: str,
        *,
        path: Mapping[str, str] = NOTHING,
        query: Mapping[str, Any] = NOTHING,
        body: Any = None,
        progress: Progress = no_progress,
        stopping: Stopping = never_stopping,
    ) -> Any:
        """Call an operation, and return the body of its answer."""
        operation = resources.find(name)
        sent = {k: v for k, v in query.items() if v is not None}
        check_names(operation, path, sent)
        limit = sent.get('limit')
        if limit is not None:
            sent['limit'] = min(limit, LIMIT.schema['maximum'])
        target = operation.path.format_map(
            {k: urllib.parse.quote(v, safe='') for k, v in path.items()}
        )
        full = f'{target}?{request.encoded(sent)}' if sent else target
        answer = self._client.send(operation.method, full, body)
        if isinstance(answer, dict) and 'next' in answer:
            return self._whole(target, answer, limit)
        return answer

    def _whole(
        self, target: str, page: dict[str, Any], limit: int | None
    ) -> Any:
        """Return a list with all its pages."""
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
