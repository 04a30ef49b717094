"""The Flask application of the operations.

Each request is authorized, validated and handled here. Tokens and the size
of bodies are layers of ``application``.
"""

from __future__ import annotations

import functools
import ipaddress
import urllib.parse
from typing import Any

import flask
import werkzeug.exceptions
from oslo_config import cfg
from oslo_context import context
from oslo_log import log
from oslo_middleware.request_id import ENV_REQUEST_ID

from ironic_ownership.api import operation
from ironic_ownership.api.background import BackgroundWork
from ironic_ownership.api.metrics_cache import Gauges
from ironic_ownership.api.request import Answer, Request, encoded, new_lists
from ironic_ownership.conf import api
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.web import (
    errors,
    policies,
    routes,
    validation,
)
from ironic_ownership.wiring import Wiring

LOG = log.getLogger(__name__)

_LONGEST_ACTOR = 255
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
        self._lists = new_lists(conf.api.list_lifetime)
        self._strategy: str = conf.api.auth_strategy
        self._public_names = {
            one.name
            for one in routes.OPERATIONS
            if one.access is operation.Access.PUBLIC
            or (one.name == METRICS and conf.api.public_metrics)
        }
        self.public = frozenset(
            one.path
            for one in routes.OPERATIONS
            if one.name in self._public_names
        )
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
        known = validation.path(path, one.parameters)
        query = validation.query(request.args, one.query)
        body = None
        if one.body is not None:
            body = validation.body(
                request.get_data(), request.mimetype, one.body
            )
        answer = one.handler(
            Request(
                known,
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
