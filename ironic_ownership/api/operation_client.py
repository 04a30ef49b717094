"""Clients of the operations: in this process, or at the HTTP service."""

from __future__ import annotations

import abc
import getpass
import json
import os
import re
import socket
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ironic_ownership.api import schemas, validation
from ironic_ownership.api.operation import (
    READING,
    UNLIMITED,
    Lists,
    Operation,
    Request,
    find_operation,
)
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.engine.gates import (
    Progress,
    Stopping,
    never_stopping,
    no_progress,
)

if TYPE_CHECKING:
    from ironic_ownership.wiring import Wiring

NOTHING: Mapping[str, Any] = {}
PAGE = 2000
"""Items of one page: some megabytes, and few queries for a long list."""

Page = tuple[Any, str | None]
"""The body of an answer, and the marker of its end if more follows."""


class Sent(NamedTuple):
    """The inputs of one call; see :meth:`OperationClient.call`."""

    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any = None
    progress: Progress = no_progress
    stopping: Stopping = never_stopping


class OperationClient(abc.ABC):
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
        list then; if it leaves something out, one of the ``notes`` says so.

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
        operation = find_operation(name)
        given = _checked(operation, path, query, body)
        if operation.access not in READING and not _is_trial(given, body):
            self.has_written = True
        sent = Sent(path, given, body, progress, stopping)
        found, marker = self._send(operation, sent)
        if not isinstance(found, dict) or 'next' not in found:
            return found
        key, limit = next(iter(found)), given.get('limit')
        items, warnings = found[key], found['warnings']
        while marker and (limit is None or len(items) < limit):
            following = {**given, 'marker': marker}
            if limit is not None:
                following['limit'] = limit - len(items)
            found, marker = self._send(operation, Sent(path, following))
            items += found[key]
            warnings += found['warnings']
        whole = {**found, key: items, 'next': None}
        whole['warnings'] = list(dict.fromkeys(warnings))
        if marker:
            more = f'more {operation.kind}s follow: raise --limit to see them'
            whole['notes'] = [*found.get('notes', ()), more]
        return whole

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
        operation = find_operation(name)
        given = _checked(operation, NOTHING, query)
        marker: str | None = ''
        while marker is not None:
            page, marker = self._send(operation, Sent(NOTHING, given), PAGE)
            given = {**given, 'marker': marker}
            yield page

    @abc.abstractmethod
    def _send(
        self, operation: Operation, sent: Sent, size: int = UNLIMITED
    ) -> Page:
        """Execute an operation; of a list return one page.

        :param size: of the page, where the caller may choose it.
        """


class LocalClient(OperationClient):
    """Calls the handlers in this process, by its own configuration.

    :param actor: who acts, for the records.
    """

    def __init__(self, context: Wiring, actor: str, request_id: str) -> None:
        super().__init__(request_id)
        self._context = context
        self._actor = actor
        self._lists: Lists = {}

    def _send(
        self, operation: Operation, sent: Sent, size: int = UNLIMITED
    ) -> Page:
        if operation.body is not None:
            validation.check(sent.body, operation.body, 'body')
        answer = operation.answer(
            Request(
                operation,
                sent.path,
                sent.query,
                sent.body,
                self._actor,
                self.request_id,
                self._context,
                max_limit=size,
                lists=None if size == UNLIMITED else self._lists,
                progress=sent.progress,
                stopping=sent.stopping,
            )
        )
        return answer.body, answer.marker


def local(wired: Wiring) -> LocalClient:
    """Return the client over the configuration and the database."""
    wired.request_id = new_request_id()
    return LocalClient(wired, actor(), wired.request_id)


def actor() -> str:
    """Return the user and the machine of this process."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no such user on this machine
        user = f'uid{os.getuid()}'
    return f'{user}@{socket.gethostname()}'[:255]


class Client(Protocol):
    """The client of the HTTP service, as far as it is used here."""

    request_id: str

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request and return the body of the answer.

        :param path: with the query.
        :raises OwnershipError: for every answer that is an error.
        """


class RemoteClient(OperationClient):
    """Calls the same operations over HTTP."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.request_id)
        self._client = client

    def _send(
        self, operation: Operation, sent: Sent, size: int = UNLIMITED
    ) -> Page:
        target = operation.path.format_map(
            {k: urllib.parse.quote(v, safe='') for k, v in sent.path.items()}
        )
        query = sent.query
        if 'limit' in query:
            most = min(query['limit'], schemas.LIMIT.schema['maximum'])
            query = {**query, 'limit': most}
        if query:
            target = f'{target}?{encoded(query)}'
        found = self._client.send(operation.method, target, sent.body)
        link = found.get('next') if isinstance(found, dict) else None
        return found, _marker(link) if link else None


def encoded(query: Mapping[str, Any]) -> str:
    """Return query parameters in the form of a URL; lists are repeated."""
    texts = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
    }
    return urllib.parse.urlencode(texts, doseq=True)


def _marker(link: str) -> str:
    """Return where a page ended; only a proxy may know the link's path."""
    query = urllib.parse.urlsplit(link).query
    return urllib.parse.parse_qs(query)['marker'][0]


def _checked(
    operation: Operation,
    path: Mapping[str, str],
    query: Mapping[str, Any],
    body: Any = None,
) -> dict[str, Any]:
    """Return the query that is sent.

    :raises RequestError: for bytes that the command line does not decode.
    :raises NotFoundError: for the first name that no resource can have. The
        HTTP service would not route it, or answer 400.
    """
    sent = {k: v for k, v in query.items() if v is not None}
    parts = body.values() if isinstance(body, dict) else (body,)
    for value in (*path.values(), *sent.values(), *parts):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as exc:
            fault = f'{value!r} is not a text in UTF-8'
            raise exceptions.RequestError([fault]) from exc
    for parameter in operation.parameters:
        text = path[parameter.name]
        if text in ('.', '..') or not _fits(text, parameter.schema):
            raise _not_known(operation.kind, text)
    for parameter in operation.query:
        values = sent.get(parameter.name)
        schema = parameter.schema.get('items', parameter.schema)
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, str) and not _fits(value, schema):
                raise _not_known(parameter.name.replace('_', ' '), value)
    return sent


def _fits(value: str, schema: schemas.Schema) -> bool:
    # By hand: the library for schemas takes longer to import than a command.
    return (
        schema.get('minLength', 0)
        <= len(value)
        <= schema.get('maxLength', len(value))
    ) and bool(re.fullmatch(schema.get('pattern', '(?s:.*)'), value))


def _not_known(kind: str, value: str) -> exceptions.NotFoundError:
    return exceptions.NotFoundError(f'{kind} {value!r} is not known')


def _is_trial(query: Mapping[str, Any], body: Any) -> bool:
    return bool(
        query.get('dry_run')
        or (isinstance(body, dict) and body.get('dry_run'))
    )
