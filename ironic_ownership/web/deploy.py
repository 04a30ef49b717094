"""From configuration files to the WSGI application.

Nothing is opened before the first request: each process that a server forks
has connections of its own.

The layers around the operations, from the outside in: request id, no identity,
one form of errors, the client's address from a proxy, health, size of bodies,
authentication.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import webob.exc
from oslo_config import cfg
from oslo_context import context as log_context
from oslo_log import log
from oslo_middleware import (
    basic_auth,
    healthcheck,
    http_proxy_to_wsgi,
    sizelimit,
)
from oslo_middleware.request_id import ENV_REQUEST_ID, RequestId
from oslo_policy import policy

from ironic_ownership import program, wiring
from ironic_ownership.conf import api, log_format
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import exceptions
from ironic_ownership.web import errors, policies
from ironic_ownership.web.flask_app import OperationsApp
from ironic_ownership.wiring import unknown_options

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PROG = 'ironic-ownership-api'
FILES = 'IRONIC_OWNERSHIP_CONFIG_FILES'
DIRECTORIES = 'IRONIC_OWNERSHIP_CONFIG_DIRS'
"""Names of files and directories, with ":" between them."""

LOG = log.getLogger(__name__)


def arguments(environment: Mapping[str, str]) -> list[str]:
    """Return the options for the configuration in an environment."""
    files, directories = (
        filter(None, environment.get(name, '').split(os.pathsep))
        for name in (FILES, DIRECTORIES)
    )
    return program.arguments(files, directories)


def configure(argv: Sequence[str]) -> cfg.ConfigOpts:
    """Read the configuration and set up the log.

    :param argv: ``--config-file`` and ``--config-dir`` arguments, if any.
    :raises cfg.Error: if a file can't be read or a value has no such type.
    :raises ConfigurationError: if the log cannot be set up.
    """
    conf = new(argv, PROG)
    api.register_opts(conf)
    log_format.setup(conf, PROG)
    return conf


def enforcer() -> policy.Enforcer:
    """Return the access rules of a deployment, for the tools of oslo.policy.

    Its configuration is found as by other WSGI servers.

    :raises cfg.Error: if a file can't be read.
    """
    conf = new(arguments(os.environ), PROG, logs=False)
    api.register_opts(conf)
    return policies.Rules(conf).enforcer


def build(conf: cfg.ConfigOpts) -> WSGIApplication:
    """Build the application of a configuration.

    :raises ConfigurationError: if its files have an option that is misspelt.
    """
    if conf.api.auth_strategy == api.NOAUTH:
        LOG.warning(
            'clients are not authenticated: only those on this machine are '
            'answered. [api] auth_strategy = keystone changes that'
        )
    for remark in unknown_options.remarks(conf):
        LOG.warning('%s', remark)
    return application(conf, wiring.Wiring(conf))


HEALTH = '/healthcheck'

PATIENCE = 10
"""Seconds for which a request to Keystone waits, by default. Its library has
no default, and a few clients take all threads of this process."""

_IDENTITY = (
    *('HTTP_X_USER', 'HTTP_X_ROLE', 'HTTP_X_PROJECT', 'HTTP_X_TENANT'),
    *('HTTP_X_DOMAIN', 'HTTP_OPENSTACK_SYSTEM_SCOPE'),
)
"""Headers that only the layer that authenticates may set, by their first
letters."""


def application(conf: cfg.ConfigOpts, wired: wiring.Wiring) -> WSGIApplication:
    """Build the application of a configuration; nothing is opened yet.

    :param conf: with the group ``api``.
    :raises cfg.Error: if an option has a value that it can't have.
    """
    served = OperationsApp(conf, wired)
    below: WSGIApplication = served.build()
    below = _at(served.public, below, _authenticated(below, conf))
    below = sizelimit.RequestBodySizeLimiter(below, conf)
    below = _at((HEALTH,), healthcheck.Healthcheck(below, conf), below)
    below = http_proxy_to_wsgi.HTTPProxyToWSGI(below, conf)
    _check_proxy(conf)
    return RequestId(_anonymous(errors.one_form(below)), conf)


def _at(
    paths: Container[object],
    there: WSGIApplication,
    elsewhere: WSGIApplication,
) -> WSGIApplication:
    """Return an application that routes paths to another application."""

    def answer(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        chosen = there if environ.get('PATH_INFO') in paths else elsewhere
        return chosen(environ, start_response)

    return answer


def _anonymous(below: WSGIApplication) -> WSGIApplication:
    """Return an application for requests of which nothing is known yet."""

    def answer(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        for name in [key for key in environ if key.startswith(_IDENTITY)]:
            del environ[name]
        # The log takes the user from the thread, which served others before.
        log_context.RequestContext(request_id=environ[ENV_REQUEST_ID])
        return below(environ, start_response)

    return answer


def _authenticated(
    below: WSGIApplication, conf: cfg.ConfigOpts
) -> WSGIApplication:
    """Return an application for authenticated clients only."""
    if conf.api.auth_strategy == api.NOAUTH:
        return below
    if conf.api.auth_strategy == api.HTTP_BASIC:
        return _with_password(below, conf.api.http_basic_auth_user_file)
    from keystonemiddleware import auth_token

    for group, opts in auth_token.list_opts():
        conf.register_opts(opts, group)
        conf.set_default('http_connect_timeout', PATIENCE, group)
    try:
        guarded: WSGIApplication = auth_token.AuthProtocol(
            below, {'oslo_config_config': conf}
        )
    except Exception as exc:  # any error of its libraries
        raise exceptions.ConfigurationError(
            [f'[keystone_authtoken] cannot be used: {exc}']
        ) from exc
    _check_tokens(conf)
    return guarded


def _check_proxy(conf: cfg.ConfigOpts) -> None:
    """Refuse to take the address of a client from a header without a token.

    :raises ConfigurationError: if that is configured.
    """
    if (
        conf.api.auth_strategy == api.NOAUTH
        and conf.oslo_middleware.enable_proxy_headers_parsing
    ):
        fault = (
            '[oslo_middleware] enable_proxy_headers_parsing lets any client '
            'claim to be on this machine, and with auth_strategy = noauth '
            'those are not authenticated'
        )
        raise exceptions.ConfigurationError(
            [fault],
            hint='Set [api] auth_strategy = keystone, or remove '
            'enable_proxy_headers_parsing',
        )


def _check_tokens(conf: cfg.ConfigOpts) -> None:
    """Refuse to start if every request would fail.

    :raises ConfigurationError: naming the lines that are missing.
    """
    group = conf.keystone_authtoken
    known = {
        'auth_type is not set': not (group.auth_type or group.auth_section),
        'www_authenticate_uri is not set': not group.www_authenticate_uri,
        'http_connect_timeout is less than 1': group.http_connect_timeout < 1,
    }
    faults = [f'[keystone_authtoken] {k}' for k, v in known.items() if v]
    if faults:
        raise exceptions.ConfigurationError(
            faults,
            hint='[api] auth_strategy = keystone, the default, needs '
            'auth_type = password with auth_url, username, password and '
            'their domains, and www_authenticate_uri, where clients get '
            'tokens; without Keystone set auth_strategy = http_basic, or '
            'noauth for a trial',
        )


def _with_password(below: WSGIApplication, file: str) -> WSGIApplication:
    """Return an application for clients that are users of a file.

    :param file: lines of ``USER:HASH``, the hash by bcrypt.
    :raises ConfigurationError: if the file can't be used.
    """
    try:
        basic_auth.validate_auth_file(file)
    except Exception as exc:  # any error of its library
        # The text of ConfigInvalid lacks its cause.
        why = exc.__context__ or exc
        raise exceptions.ConfigurationError(
            [f'[api] http_basic_auth_user_file = {file}: {why}'],
            hint='Add users with "htpasswd -nB USER >> FILE", and let the '
            'user of this process read the file',
        ) from exc

    def answer(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        try:
            sent = basic_auth.parse_token(basic_auth.parse_header(environ))
            environ.update(basic_auth.authenticate(file, *sent))
        except (webob.exc.HTTPError, ValueError):
            # bcrypt raises ValueError for a password with a NUL.
            start_response(
                '401 Unauthorized',
                [('WWW-Authenticate', 'Basic realm="Baremetal ownership"')],
            )
            return []
        return below(environ, start_response)

    return answer
