"""Passwords of clients, as Ironic checks them with ``http_basic``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import webob.exc
from oslo_middleware import basic_auth
from oslo_middleware import exceptions as oslo_exceptions

from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Passwords:
    """Authenticates clients by the users of a file.

    :param file: lines of ``USER:HASH``, the hash by bcrypt.
    :raises ConfigurationError: if the file can't be used.
    """

    def __init__(self, below: WSGIApplication, file: str) -> None:
        self._below = below
        self._file = file
        try:
            basic_auth.validate_auth_file(file)
        except (oslo_exceptions.ConfigInvalid, webob.exc.HTTPError) as exc:
            raise exceptions.ConfigurationError(
                [f'[api] http_basic_auth_user_file = {file}: {exc}'],
                hint='Add users with "htpasswd -nB USER >> FILE", and let the '
                'user of this process read the file',
            ) from exc

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer one request."""
        try:
            sent = basic_auth.parse_token(basic_auth.parse_header(environ))
            environ.update(basic_auth.authenticate(self._file, *sent))
        except (webob.exc.HTTPError, ValueError):
            # bcrypt raises ValueError for a password with a NUL.
            start_response(
                '401 Unauthorized',
                [('WWW-Authenticate', 'Basic realm="Baremetal ownership"')],
            )
            return []
        return self._below(environ, start_response)
