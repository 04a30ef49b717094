"""The WSGI application: operations on Flask, and the layers around it.

From the outside in: request id, one form of errors, the client's address
from a proxy, health, size of bodies, tokens, the operations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_middleware import healthcheck, http_proxy_to_wsgi, sizelimit
from oslo_middleware.request_id import RequestId

from ironic_ownership.api.context import RequestContext
from ironic_ownership.contracts import exceptions
from ironic_ownership.web import error_middleware
from ironic_ownership.web.flask_app import OperationsApp

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HEALTH = '/healthcheck'


def build(
    conf: cfg.ConfigOpts, context: RequestContext, *, name: str = __name__
) -> WSGIApplication:
    """Build the application of a configuration; nothing is opened yet.

    :param conf: with the group ``api``.
    :raises cfg.Error: if an option has a value that it can't have.
    """
    served = OperationsApp(conf, context)
    below: WSGIApplication = served.build(name)
    if served.keystone:
        below = _Tokens(below, conf, served.public)
    below = sizelimit.RequestBodySizeLimiter(below, conf)
    below = _at(HEALTH, healthcheck.Healthcheck(below, conf), below)
    below = http_proxy_to_wsgi.HTTPProxyToWSGI(below, conf)
    return RequestId(error_middleware.OneForm(below), conf)


def _at(
    path: str, there: WSGIApplication, elsewhere: WSGIApplication
) -> WSGIApplication:
    """Return an application that routes one path to another application."""

    def answer(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        chosen = there if environ.get('PATH_INFO') == path else elsewhere
        return chosen(environ, start_response)

    return answer


class _Tokens:
    """Authenticates clients by tokens, except for public paths."""

    def __init__(
        self,
        below: WSGIApplication,
        conf: cfg.ConfigOpts,
        public: frozenset[str],
    ) -> None:
        from keystonemiddleware import auth_token

        self._below = below
        self._public = public
        try:
            self._guarded: WSGIApplication = auth_token.AuthProtocol(
                below, {'oslo_config_config': conf}
            )
        except Exception as exc:  # any error of its libraries
            raise exceptions.ConfigurationError(
                [f'[keystone_authtoken] cannot be used: {exc}']
            ) from exc
        _check_tokens(conf)

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Any:
        """Answer one request."""
        if environ.get('PATH_INFO') in self._public:
            _remove_identity(environ)
            return self._below(environ, start_response)
        return self._guarded(environ, start_response)


def _check_tokens(conf: cfg.ConfigOpts) -> None:
    """Refuse to start if every request would fail.

    :raises ConfigurationError: naming the lines that are missing.
    """
    group = conf.keystone_authtoken
    missing = [
        f'[keystone_authtoken] {name} is not set'
        for name, there in (
            ('auth_type', group.auth_type or group.auth_section),
            ('www_authenticate_uri', group.www_authenticate_uri),
        )
        if not there
    ]
    if missing:
        raise exceptions.ConfigurationError(
            missing,
            hint='auth_strategy = keystone needs auth_type = password with '
            'auth_url, username, password and their domains, and '
            'www_authenticate_uri, where clients get tokens',
        )


def _remove_identity(environ: WSGIEnvironment) -> None:
    """Remove the headers that only the layer that checks tokens may set."""
    for name in [
        key
        for key in environ
        if key.startswith(('HTTP_X_USER', 'HTTP_X_ROLE', 'HTTP_X_PROJECT'))
    ]:
        del environ[name]
