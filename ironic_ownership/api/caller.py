"""The interface of the callers: the same operation, locally or remotely."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ironic_ownership.api.request import Progress, never_stopping, no_progress

NOTHING: Mapping[str, Any] = {}


class Caller(Protocol):
    """Calls operations, in this process or at the HTTP service.

    :ivar request_id: is sent with every call, to Ironic and Placement too.
    """

    request_id: str

    def call(
        self,
        name: str,
        *,
        path: Mapping[str, str] = NOTHING,
        query: Mapping[str, Any] = NOTHING,
        body: Any = None,
        progress: Progress = no_progress,
        stopping: Callable[[], bool] = never_stopping,
    ) -> Any:
        """Call an operation, and return the body of its answer.

        A list is returned whole, over all its pages, and its ``next`` is
        always ``None``. The ``limit`` of a query is the maximum of the whole
        list then.

        :param name: ``noun:verb``.
        :param path: parameters of the path.
        :param query: parameters of the query; those with the value ``None``
            are left out.
        :param body: the body, if the operation takes one.
        :param progress: called while a long operation runs in this process.
        :param stopping: tells a long operation in this process to stop.
        :raises OwnershipError: with the same code, message, hint and details
            in both cases.
        """
