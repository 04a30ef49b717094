"""Caller of operations in this process, by its own configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironic_ownership.api import resources
from ironic_ownership.api.caller import NOTHING, check_names
from ironic_ownership.api.context import RequestContext
from ironic_ownership.api.request import Request
from ironic_ownership.engine.operations.caller import (
    Progress,
    Stopping,
    never_stopping,
    no_progress,
)


class LocalCaller:
    """Calls the handlers directly; see ``caller.Caller``.

    :param actor: who acts, for the records.
    """

    def __init__(
        self, context: RequestContext, actor: str, request_id: str
    ) -> None:
        self._context = context
        self._actor = actor
        self.request_id = request_id

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
        answer = operation.handler(
            Request(
                path,
                sent,
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
