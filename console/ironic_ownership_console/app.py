"""The application: sessions, headers, sign-in; pages are in ``pages``."""

from __future__ import annotations

import hmac
import ipaddress
import re
import time
from collections.abc import Callable
from typing import Any, cast

import flask
import werkzeug
from werkzeug import exceptions

from ironic_ownership_console import (
    actions,
    fleet,
    keystone,
    node,
    one_service,
    pages,
    words,
)
from ironic_ownership_console.service import Service, ServiceError
from ironic_ownership_console.sessions import Session, Sessions

COOKIE = 'ironic_ownership_console'
_OPEN = ('sign_in', 'static')
_HEADERS = {
    'Content-Security-Policy': (
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'same-origin',
}


def build(
    service: Service,
    *,
    auth_url: str = '',
    lifetime: float = 3600.0,
    clock: Callable[[], float] = time.monotonic,
    sign_in: Callable[..., keystone.SignedIn] = keystone.sign_in,
) -> flask.Flask:
    """Build the application.

    :param auth_url: of Keystone; without it only loopback clients are served.
    :param lifetime: the longest session, in seconds.
    """
    app = flask.Flask(__name__)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters.update(words.FILTERS)
    app.jinja_env.globals.update(
        groupings=fleet.GROUPINGS, states=fleet.STATES
    )
    app.config['MAX_CONTENT_LENGTH'] = 1_000_000
    app.extensions['service'] = service
    app.extensions['fleet'] = fleet.Fleet(service)
    gate = _Gate(auth_url, Sessions(lifetime, clock), sign_in)
    app.before_request(gate.admit)
    app.after_request(gate.finish)
    app.context_processor(_context)
    app.add_url_rule('/sign-in', 'sign_in', gate.form, methods=['GET', 'POST'])
    app.add_url_rule('/sign-out', 'sign_out', gate.leave, methods=['POST'])
    app.register_blueprint(pages.PAGES)
    app.register_blueprint(node.NODE)
    app.register_blueprint(one_service.SERVICE)
    app.register_blueprint(actions.ACTIONS)
    app.register_error_handler(ServiceError, gate.refused)
    app.register_error_handler(exceptions.HTTPException, _failed)
    return app


def _failed(error: exceptions.HTTPException) -> tuple[str, int]:
    """Show an error of the console itself with the way to all pages."""
    shown = ServiceError(error.code or 500, error.description or error.name)
    return flask.render_template('error.html', error=shown), shown.status


def _context() -> dict[str, Any]:
    session = flask.g.get('session')
    message = ''
    # A part that is read again, also of another tab, would not show it.
    is_part = 'HX-Request' in flask.request.headers
    if session is not None and flask.request.method == 'GET' and not is_part:
        message, session.message = session.message, ''
    return {'session': session, 'message': message}


class _Gate:
    """Admits requests of a session, and ends what others may not do."""

    def __init__(
        self,
        auth_url: str,
        sessions: Sessions,
        sign_in: Callable[..., keystone.SignedIn],
    ) -> None:
        self._auth_url = auth_url
        self._sessions = sessions
        self._sign_in = sign_in

    def admit(self) -> werkzeug.Response | None:
        """Find the session of a request, or send it to the form."""
        request = flask.request
        if not self._auth_url:
            # A page of another site whose name resolves to this machine.
            host = re.sub(r':\d*$', '', request.host.lower())
            if not is_loopback(host.strip('[]')):
                flask.abort(400, 'Without Keystone, use a loopback address.')
        if request.endpoint == 'static':
            return None
        found = self._sessions.find(request.cookies.get(COOKIE, ''))
        if found is None and not self._auth_url:
            found = self._sessions.begin('local')
        flask.g.session = found
        if request.method == 'POST' and request.endpoint != 'sign_in':
            sent = request.form.get('csrf', '')
            if found is not None and not hmac.compare_digest(
                sent.encode(), found.csrf.encode()
            ):
                flask.abort(
                    403, 'The form is from another session. Load it again.'
                )
        if found is not None or request.endpoint in _OPEN:
            return None
        return self._to_form()

    @staticmethod
    def _to_form(refused: str | None = None) -> werkzeug.Response:
        request = flask.request
        back = request.full_path.rstrip('?') if request.method == 'GET' else ''
        where = flask.url_for('sign_in', back=back, refused=refused)
        if request.headers.get('HX-Request'):
            # A part of a page cannot be replaced by a form.
            return flask.Response(headers={'HX-Redirect': where})
        return flask.redirect(where)

    def form(self) -> werkzeug.Response | str | tuple[str, int]:
        """Show the form of the sign-in, or sign in."""
        request = flask.request
        if not self._auth_url:
            return flask.redirect('/')
        if request.method == 'GET':
            return flask.render_template('sign_in.html', error='')
        # Chromium and Firefox send it with each form.
        if request.headers.get('Sec-Fetch-Site', 'same-origin') not in (
            'same-origin',
            'none',
        ):
            flask.abort(403)
        names = (
            'user',
            'password',
            'project',
            'user_domain',
            'project_domain',
        )
        try:
            found = self._sign_in(
                self._auth_url,
                **{name: request.form.get(name, '') for name in names},
            )
        except keystone.SignInError as exc:
            return flask.render_template('sign_in.html', error=str(exc)), 401
        old = request.cookies.get(COOKIE, '')
        self._sessions.end(old)
        flask.g.session = self._sessions.begin(
            found.user, found.token, found.lifetime
        )
        return flask.redirect(_local(request.form.get('back', '')))

    def leave(self) -> werkzeug.Response:
        """Sign out."""
        self._sessions.end(flask.g.session.key)
        flask.g.session = None
        answer = flask.redirect('/')
        answer.delete_cookie(COOKIE)
        return answer

    def finish(self, answer: flask.Response) -> flask.Response:
        """Add the headers, and the cookie of the session."""
        answer.headers.update(_HEADERS)
        if flask.request.endpoint != 'static':
            answer.headers['Cache-Control'] = 'no-store'
        session = cast('Session | None', flask.g.get('session'))
        if session is not None and session.key != flask.request.cookies.get(
            COOKIE
        ):
            answer.set_cookie(
                COOKIE,
                session.key,
                httponly=True,
                samesite='Strict',
                secure=bool(self._auth_url) or flask.request.is_secure,
            )
        return answer

    def refused(self, error: ServiceError) -> Any:
        """Show the error of the HTTP service; sign in again if needed."""
        if error.status == 401 and self._auth_url and flask.g.session:
            self._sessions.end(flask.g.session.key)
            flask.g.session = None
            return self._to_form(refused='1')
        page = flask.render_template('error.html', error=error)
        return page, error.status


def is_loopback(address: str) -> bool:
    """Tell whether an address or a name is one of this machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == 'localhost'


def _local(path: str) -> str:
    """Return a path of this site; the first page for anything else."""
    is_path = path.startswith('/') and not path.startswith(('//', '/\\'))
    return path if is_path and path.isprintable() else '/'
