"""The Flask application of the operations.

Each request is authorized, validated and handled here. Its values are read
from the texts of HTTP. Tokens and the size of bodies are layers of ``deploy``.
"""

from __future__ import annotations

import functools
import ipaddress
import json
import re
import urllib.parse
from collections.abc import Sequence
from typing import Any

import cachetools
import flask
import werkzeug.exceptions
from oslo_config import cfg
from oslo_context import context
from oslo_log import log
from oslo_middleware.request_id import ENV_REQUEST_ID
from werkzeug.datastructures import MultiDict

from ironic_ownership.api import operation
from ironic_ownership.api.background import BackgroundWork, Gauges
from ironic_ownership.api.operation import Answer, Request
from ironic_ownership.api.operation_client import encoded
from ironic_ownership.api.schemas import Parameter, Schema
from ironic_ownership.api.validation import check, faults, refuse
from ironic_ownership.conf import api
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.web import errors, policies, routes
from ironic_ownership.wiring import Wiring

LOG = log.getLogger(__name__)

_LONGEST_ACTOR = 255
MAX_LISTS = 4
"""The maximum number of lists: one of 100,000 nodes takes some 30 MB."""

METRICS = 'metrics:show'
_FORWARDED = 'HTTP_FORWARDED', 'HTTP_X_FORWARDED', 'HTTP_VIA', 'HTTP_X_REAL'
"""Headers of proxies, by their first letters."""


class OperationsApp:
    """The operations of one deployment.

    :ivar public: paths that need no authentication.
    """

    def __init__(self, conf: cfg.ConfigOpts, wired: Wiring) -> None:
        self._wired = wired
        self._background = BackgroundWork()
        self._gauges = Gauges(wired.overview, conf.api.metrics_interval)
        self._max_limit: int = conf.api.max_limit
        self._lists: operation.Lists = cachetools.TTLCache(
            MAX_LISTS, conf.api.list_lifetime
        )
        self._strategy: str = conf.api.auth_strategy
        public = [
            one
            for one in routes.OPERATIONS
            if one.access is operation.Access.PUBLIC
            or (one.name == METRICS and conf.api.public_metrics)
        ]
        self._public_names = {one.name for one in public}
        self.public = frozenset(one.path for one in public)
        self._rules = (
            policies.Rules(conf) if self._strategy == api.KEYSTONE else None
        )

    def build(self) -> flask.Flask:
        """Build the application."""
        app = flask.Flask(__name__, static_folder=None)
        app.json.sort_keys = False  # type: ignore[attr-defined]
        app.url_map.strict_slashes = True
        app.url_map.merge_slashes = False
        for one in routes.OPERATIONS:
            app.add_url_rule(
                one.path.replace('{', '<').replace('}', '>'),
                one.name.replace(':', '_'),
                functools.partial(self._answer, one),
                methods=[one.method],
                provide_automatic_options=False,
            )
        app.register_error_handler(exceptions.OwnershipError, _reported)
        app.register_error_handler(Exception, _unexpected)
        return app

    def _answer(self, one: operation.Operation, **path: str) -> flask.Response:
        credentials = context.RequestContext.from_environ(
            flask.request.environ
        )
        actor = self._authorize(one, credentials)
        request = flask.request
        for known in one.parameters:
            check(path[known.name], known.schema, 'path')
        # Flask's own reader fails for bytes that are no text.
        text = request.query_string.decode(errors='replace')
        sent = MultiDict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        query = query_values(sent, one.query)
        body = None
        if one.body is not None:
            body = body_value(request.get_data(), request.mimetype, one.body)
        answer = one.answer(
            Request(
                one,
                path,
                query,
                body,
                actor,
                credentials.request_id or '',
                self._wired,
                self._max_limit,
                self._lists,
                background=self._background,
                gauges=self._gauges,
                own_only=self._rules is not None
                and not self._rules.sees_all(one, credentials),
            )
        )
        if answer.marker is not None:
            following = encoded({**query, 'marker': answer.marker})
            where = request.script_root + request.path
            answer.body['next'] = f'{where}?{following}'
        LOG.info('%s: %s', _request_line(), answer.status)
        return _response(answer, one.media_type)

    def _authorize(
        self, one: operation.Operation, credentials: context.RequestContext
    ) -> str:
        """Refuse a client that is not allowed to call the operation.

        :returns: the client, as the records name it.
        :raises ForbiddenError: if it is not allowed.
        """
        if self._strategy == api.NOAUTH:
            _check_local(flask.request)
            return f'api@{flask.request.remote_addr or "local"}'
        if self._rules is None:
            return f'{credentials.user_id}@{self._strategy}'[:_LONGEST_ACTOR]
        if one.name not in self._public_names:
            self._rules.check(one, credentials)
        # Ids, because a name is not unique among the domains of Keystone.
        project = (
            credentials.project_id or credentials.system_scope or 'domain'
        )
        return f'{credentials.user_id}@{project}'[:_LONGEST_ACTOR]


def _check_local(request: flask.Request) -> None:
    """Refuse a client that may be on another machine.

    :raises ForbiddenError: if it is, or if a proxy sent its request.
    """
    # A page of any site may let a browser send requests to a name that
    # resolves to this machine.
    host = request.headers.get('Host', 'localhost')
    if (
        is_local(request.remote_addr)
        and is_local(_name(host))
        and not any(key.startswith(_FORWARDED) for key in request.environ)
    ):
        return
    raise errors.ForbiddenError(
        'clients are not authenticated here, so only those on the same '
        'machine are answered, under its name and without a proxy',
        hint='Set [api] auth_strategy = keystone',
    )


def is_local(address: str | None) -> bool:
    """Tell whether an address is local; a socket file has none."""
    if not address:
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == 'localhost'


def _name(host: str) -> str:
    """Return the name in a ``Host`` header, without the port."""
    try:
        return urllib.parse.urlsplit(f'//{host}').hostname or '-'
    except ValueError:
        return host


def _response(answer: Answer, media_type: str) -> flask.Response:
    if media_type == 'application/json':
        response = _json(answer.body)
    else:
        response = flask.Response(answer.body, content_type=media_type)
    response.status_code = answer.status
    if answer.location is not None:
        where = flask.request.script_root + answer.location
        response.headers['Location'] = where
    response.headers['Cache-Control'] = 'no-store'
    return response


def _json(body: Any) -> flask.Response:
    """Return JSON, without passwords in URLs that texts quote."""
    text = texts.without_credentials(flask.json.dumps(body))
    return flask.Response(text, content_type='application/json')


def _request_line() -> str:
    """Return method and path for the log; the path is decoded."""
    return f'{flask.request.method} {texts.printable(flask.request.path)}'


def _request_id() -> str:
    return str(flask.request.environ.get(ENV_REQUEST_ID, ''))


def _reported(error: exceptions.OwnershipError) -> flask.Response:
    """Answer one of our own errors."""
    status = error.http_status
    LOG.log(
        log.ERROR if status >= 500 else log.INFO,
        '%s: %s: %s',
        *(_request_line(), status, ' '.join(str(error).split())),
    )
    return _error(errors.form_of(error, _request_id()), status)


def _unexpected(error: Exception) -> Any:
    """Answer an unexpected error, or an exception of another layer."""
    status = getattr(error, 'code', None)
    if isinstance(error, werkzeug.exceptions.HTTPException):
        return error
    if isinstance(status, int) and 400 <= status < 500:
        # From the layer that limits bodies, while one is being read.
        return flask.Response(status=status)
    LOG.error('%s', _request_line(), exc_info=error)
    return _error(errors.unexpected(_request_id()), 500)


def _error(body: dict[str, Any], status: int) -> flask.Response:
    flask.request.environ[errors.FORMED] = True
    response = _json(body)
    response.status_code = status
    return response


_INTEGER = re.compile('-?[0-9]{1,18}')
_FLAGS = {'true': True, 'false': False}


def query_values(
    sent: MultiDict[str, str],
    known: Sequence[Parameter],
) -> dict[str, Any]:
    """Return the values of a query by the names of its parameters.

    :raises RequestError: listing everything that is wrong.
    """
    parameters = {parameter.name: parameter for parameter in known}
    found = [
        f'{name!r} is not a parameter: there are {", ".join(parameters)}'
        if parameters
        else f'{name!r}: there are no parameters'
        for name in sent
        if name not in parameters
    ]
    values: dict[str, Any] = {}
    for name in sent:
        if name in parameters:
            schema = parameters[name].schema
            value = _read(sent.getlist(name), schema)
            found += faults(value, schema, name)
            values[name] = value
    refuse(found)
    return values


def body_value(data: bytes, media_type: str, schema: Schema) -> Any:
    """Return a body that was sent as JSON.

    :raises UnsupportedMediaTypeError: if its type is another one.
    :raises RequestError: listing everything that is wrong.
    """
    # A page in a browser cannot send JSON without a check of its origin.
    if media_type != 'application/json':
        raise errors.UnsupportedMediaTypeError(
            f'the body is {media_type or "of no type"}',
            hint='Send JSON, with "Content-Type: application/json"',
        )
    try:
        # Neither NaN nor Infinity is JSON, and half a character is no text.
        value = json.loads(
            data, parse_constant=_refuse_constant, parse_float=_number
        )
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as exc:
        raise exceptions.RequestError(
            ['the body is not JSON in UTF-8']
        ) from exc
    if texts.is_deep(value):
        raise exceptions.RequestError(['the body has too many levels'])
    check(value, schema, 'body')
    return value


def _number(text: str) -> float | int:
    """Return a number; without a fraction an integer: 1.0 is 1 in JSON."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _refuse_constant(text: str) -> Any:
    raise ValueError(text)


def _read(texts: Sequence[str], schema: Schema) -> Any:
    """Return the typed value of texts, or the texts if they have none."""
    kind = schema.get('type')
    if kind == 'array':
        return [_read([text], schema['items']) for text in texts]
    if len(texts) > 1:
        return list(texts)
    (text,) = texts
    if kind == 'integer' and _INTEGER.fullmatch(text):
        return int(text)
    if kind == 'boolean':
        return _FLAGS.get(text, text)
    return text
