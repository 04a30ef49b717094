"""The operations as one deployment serves them, on Flask.

Each request is admitted, checked, handled and answered here. What is around
that, such as tokens and the size of bodies, are layers of ``application``.
"""

from __future__ import annotations

import functools
import ipaddress
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

import flask
import werkzeug.exceptions
from oslo_config import cfg
from oslo_context import context
from oslo_log import log
from oslo_middleware import request_id as request_id_

from ironic_ownership.api import operation, page_cache
from ironic_ownership.api.context import RequestContext
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.conf import api
from ironic_ownership.contracts import exceptions
from ironic_ownership.web import (
    error_middleware,
    errors,
    policies,
    routes,
    validation,
)

LOG = log.getLogger(__name__)

_LONGEST_ACTOR = 255
_CREDENTIALS = re.compile(r'(\w://)[^/@\s"]+@')
METRICS = 'metrics:show'


class Site:
    """The operations, as one deployment serves them.

    :ivar keystone: whether clients are asked who they are.
    :ivar public: paths that are answered to everybody.
    """

    def __init__(self, conf: cfg.ConfigOpts, context: RequestContext) -> None:
        self._context = context
        self._max_limit: int = conf.api.max_limit
        self._page_cache = page_cache.PageCache(conf.api.list_lifetime)
        self.keystone = conf.api.auth_strategy == api.KEYSTONE
        self._open = {
            one.name
            for one in routes.OPERATIONS
            if one.access is operation.Access.PUBLIC
            or (one.name == METRICS and conf.api.public_metrics)
        }
        self.public = frozenset(
            one.path for one in routes.OPERATIONS if one.name in self._open
        )
        self._rules = policies.Rules(conf) if self.keystone else None

    def operations(self, name: str) -> flask.Flask:
        """Return the operations as an application of Flask."""
        app = flask.Flask(name, static_folder=None)
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
        app.register_error_handler(
            exceptions.OwnershipError, _told(errors.status, errors.form_of)
        )
        app.register_error_handler(Exception, _unexpected)
        return app

    def _answer(self, one: operation.Operation, **path: str) -> flask.Response:
        who = context.RequestContext.from_environ(flask.request.environ)
        actor = self._admit(one, who)
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
                who.request_id or '',
                self._context,
                self._max_limit,
                request.script_root + request.path,
                self._page_cache,
                background=True,
            )
        )
        LOG.info('%s %s: %s', request.method, request.path, answer.status)
        return _response(answer, one.media_type)

    def _admit(
        self, one: operation.Operation, who: context.RequestContext
    ) -> str:
        """Refuse who may not do it.

        :returns: the client, as the records are to name it.
        :raises ForbiddenError: if it may not.
        """
        remote = flask.request.remote_addr
        if self._rules is None:
            # The name, because a browser asks for whoever gave it that name.
            host = flask.request.headers.get('Host', 'localhost')
            if not (is_local(remote) and is_local(_name(host))):
                raise errors.ForbiddenError(
                    'clients are not asked who they are here, so only those '
                    'on the same machine are answered, and under its name',
                    hint='Set [api] auth_strategy = keystone',
                )
            return f'api@{remote or "local"}'
        if one.name not in self._open:
            self._rules.check(one, who)
        user = flask.request.headers.get('X-User-Name') or who.user_id
        project = who.project_id or who.system_scope or 'domain'
        return f'{user}@{project}'[:_LONGEST_ACTOR]


def is_local(address: str | None) -> bool:
    """Tell whether an address is of this machine; a socket file has none."""
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
    # What is true now is not true for long.
    response.headers['Cache-Control'] = 'no-store'
    return response


def _json(body: Any) -> flask.Response:
    """Return JSON, with no password that a text quotes from a URL."""
    text = _CREDENTIALS.sub(r'\1***@', flask.json.dumps(body))
    return flask.Response(text, content_type='application/json')


def _request_id() -> str:
    return str(flask.request.environ.get(request_id_.ENV_REQUEST_ID, ''))


def _told(
    status_of: Callable[[Any], int],
    form_of: Callable[[Any, str], dict[str, Any]],
) -> Callable[[Any], flask.Response]:
    def handle(error: exceptions.OwnershipError) -> flask.Response:
        status = status_of(error)
        level = log.ERROR if status >= 500 else log.INFO
        request = flask.request
        text = ' '.join(str(error).split())
        LOG.log(
            level, '%s %s: %s: %s', request.method, request.path, status, text
        )
        return _error(form_of(error, _request_id()), status)

    return handle


def _unexpected(error: Exception) -> Any:
    """Answer an unexpected error, or an exception of another layer."""
    status = getattr(error, 'code', None)
    if isinstance(error, werkzeug.exceptions.HTTPException):
        return error
    if isinstance(status, int) and 400 <= status < 500:
        # The layer that limits bodies, while one is being read.
        return flask.Response(status=status)
    LOG.error(
        '%s %s',
        flask.request.method,
        flask.request.path,
        exc_info=error,
    )
    return _error(errors.unexpected(_request_id()), 500)


def _error(body: dict[str, Any], status: int) -> flask.Response:
    flask.request.environ[error_middleware.FORMED] = True
    response = _json(body)
    response.status_code = status
    return response
