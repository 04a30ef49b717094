"""The interface of the callers: the same operation, locally or remotely."""

from __future__ import annotations

import abc
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_ownership.api import resources
from ironic_ownership.api.operation import Access, Operation, Schema
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.operations.caller import (
    Progress,
    Stopping,
    never_stopping,
    no_progress,
)

NOTHING: Mapping[str, Any] = {}

_READING = (Access.PUBLIC, Access.READ, Access.READ_RESERVATIONS)


class Caller(abc.ABC):
    """Calls operations, in this process or at the HTTP service.

    :param request_id: is sent with every call, to Ironic and Placement too.
    :ivar has_written: whether an operation that changes something was called.
    """

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.has_written = False

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
        operation, sent = _checked(name, path, query)
        if operation.access not in _READING and not _is_trial(sent, body):
            self.has_written = True
        return self._execute(operation, path, sent, body, progress, stopping)

    def pages(
        self, name: str, *, query: Mapping[str, Any] = NOTHING
    ) -> Iterator[Any]:
        """Call an operation that lists things, page by page.

        Each page is read when it is asked for, so that a list of any length
        needs little memory. An error may come with any of them.

        :param name: ``noun:verb``, of an operation that only reads.
        :param query: as for :meth:`call`; its ``limit`` is that of a page.
        :returns: the bodies of the answers, at least one.
        """
        operation, sent = _checked(name, NOTHING, query)
        while True:
            page = self._page(operation, sent)
            yield page
            if page['next'] is None:
                return
            sent = {**sent, 'marker': _marker(page['next'])}

    @abc.abstractmethod
    def _page(self, operation: Operation, query: Mapping[str, Any]) -> Any:
        """Read one page of a list, and return the body of the answer."""

    @abc.abstractmethod
    def _execute(
        self,
        operation: Operation,
        path: Mapping[str, str],
        query: dict[str, Any],
        body: Any,
        progress: Progress,
        stopping: Stopping,
    ) -> Any:
        """Execute the operation, and return the body of its answer."""


def _checked(
    name: str, path: Mapping[str, str], query: Mapping[str, Any]
) -> tuple[Operation, dict[str, Any]]:
    operation = resources.find(name)
    sent = {k: v for k, v in query.items() if v is not None}
    check_names(operation, path, sent)
    return operation, sent


def _marker(link: str) -> str:
    """Return where a page ended; only a proxy may know the link's path."""
    query = urllib.parse.urlsplit(link).query
    return urllib.parse.parse_qs(query)['marker'][0]


def check_names(
    operation: Operation, path: Mapping[str, str], query: Mapping[str, Any]
) -> None:
    """Refuse names that no resource can have.

    The HTTP service would not route them, or answer 400; the result has to
    be the same without it.

    :raises NotFoundError: for the first of them.
    """
    for parameter in operation.parameters:
        name = path[parameter.name]
        if name in ('.', '..') or not _fits(name, parameter.schema):
            raise _not_known(operation.kind, name)
    for parameter in operation.query:
        values = query.get(parameter.name)
        for value in values if isinstance(values, list) else [values]:
            schema = parameter.schema.get('items', parameter.schema)
            if isinstance(value, str) and not _fits(value, schema):
                raise _not_known(parameter.name.replace('_', ' '), value)


def _is_trial(query: Mapping[str, Any], body: Any) -> bool:
    return bool(
        query.get('dry_run')
        or (isinstance(body, dict) and body.get('dry_run'))
    )


def _fits(value: str, schema: Schema) -> bool:
    return (
        schema.get('minLength', 0)
        <= len(value)
        <= schema.get('maxLength', len(value))
    ) and bool(re.fullmatch(schema.get('pattern', '(?s:.*)'), value))


def _not_known(kind: str, value: str) -> exceptions.NotFoundError:
    return exceptions.NotFoundError(f'{kind} {value!r} is not known')
