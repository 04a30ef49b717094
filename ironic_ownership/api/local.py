"""Caller of operations in this process, by its own configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironic_ownership.api.caller import NOTHING, Caller
from ironic_ownership.api.context import RequestContext
from ironic_ownership.api.operation import Operation
from ironic_ownership.api.page_cache import PageCache
from ironic_ownership.api.request import Request
from ironic_ownership.engine.operations.caller import Progress, Stopping

PAGE = 2000
"""Items of one page: some megabytes, and few queries for a long list."""


class LocalCaller(Caller):
    """Calls the handlers directly.

    :param actor: who acts, for the records.
    """

    def __init__(
        self, context: RequestContext, actor: str, request_id: str
    ) -> None:
        super().__init__(request_id)
        self._context = context
        self._actor = actor
        self._lists = PageCache(math.inf)

    def _page(self, operation: Operation, query: Mapping[str, Any]) -> Any:
        return operation.handler(
            Request(
                NOTHING,
                query,
                None,
                self._actor,
                self.request_id,
                self._context,
                max_limit=PAGE,
                page_cache=self._lists,
            )
        ).body

    def _execute(
        self,
        operation: Operation,
        path: Mapping[str, str],
        query: dict[str, Any],
        body: Any,
        progress: Progress,
        stopping: Stopping,
    ) -> Any:
        if operation.body is not None:
            # Imported late: only commands with a body pay for its library.
            from ironic_ownership.api import validation

            validation.check(body, operation.body, 'body')
        answer = operation.handler(
            Request(
                path,
                query,
                body,
                self._actor,
                self.request_id,
                self._context,
                progress=progress,
                stopping=stopping,
            )
        )
        if isinstance(answer.body, dict) and 'next' in answer.body:
            answer.body['next'] = None
        return answer.body
