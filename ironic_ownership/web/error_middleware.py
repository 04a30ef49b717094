"""The outermost layer: every error in one form.

Layers below, such as the one that checks tokens, answer in forms of their
own. The errors of operations have the right form already, and pass.
"""

from __future__ import annotations

import http
import json
import wsgiref.headers
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from oslo_log import log
from oslo_middleware.request_id import ENV_REQUEST_ID

from ironic_ownership.web import errors

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = log.getLogger(__name__)

FORMED = 'ironic_ownership.formed'
"""The key in the environment of a request whose answer has the form."""

_HINTS = {
    401: 'Send a valid token of Keystone in the header X-Auth-Token; or user '
    'and password, where the service runs with auth_strategy = http_basic',
    413: 'Send less, or raise [oslo_middleware] max_request_body_size',
}
_KEPT = frozenset(('allow', 'www-authenticate', 'retry-after'))


class OneForm:
    """Converts the errors of other layers into the form of all errors."""

    def __init__(self, below: WSGIApplication) -> None:
        self._below = below

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer one request."""
        failed: list[tuple[int, list[tuple[str, str]]]] = []

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: Any = None
        ) -> Callable[[bytes], object]:
            number = int(status[:3])
            if number < 400 or environ.get(FORMED):
                return start_response(status, headers, exc_info)
            failed.append((number, headers))
            return lambda data: None

        try:
            answer = self._below(environ, start)
        except Exception:  # the outermost layer: logged once
            LOG.exception('a layer of the HTTP service failed')
            return self._formed(environ, start_response, 500, [])
        if not failed:
            return answer
        close = getattr(answer, 'close', None)
        if close is not None:
            close()
        return self._formed(environ, start_response, *failed[-1])

    def _formed(
        self,
        environ: WSGIEnvironment,
        start_response: StartResponse,
        status: int,
        headers: list[tuple[str, str]],
    ) -> Iterable[bytes]:
        phrase = http.HTTPStatus(status).phrase
        request_id = environ.get(ENV_REQUEST_ID, '')
        form = (
            errors.unexpected(request_id)
            if status == http.HTTPStatus.INTERNAL_SERVER_ERROR
            else errors.form(
                errors.CODES.get(status, 'error'),
                phrase,
                _HINTS.get(status, ''),
                request_id,
            )
        )
        body = json.dumps(form).encode()
        kept = [(k, v) for k, v in headers if k.lower() in _KEPT]
        fresh = wsgiref.headers.Headers(kept)
        fresh['Content-Type'] = 'application/json'
        fresh['Content-Length'] = str(len(body))
        start_response(f'{status} {phrase}', fresh.items())
        return [] if environ['REQUEST_METHOD'] == 'HEAD' else [body]
