"""Transport to services: options and adapters of keystoneauth, and requests.

The options are keystoneauth's own, for any service. Nothing is sent while an
adapter is built: a service that is down must not prevent that.

A request is sent again once, immediately, when the connection fails: a kept
connection that the server has closed looks like that. It is never sent again
after a time-out or because of a status: keystoneauth would sleep as long as
``Retry-After`` asks for. The caller retries later. Redirects are not followed,
because keystoneauth drops the query from them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.contracts.calls import pending

if TYPE_CHECKING:
    import requests
    from keystoneauth1 import adapter as ksa_adapter

TIMEOUT = 60.0
"""Default of the seconds for which a request waits for the next bytes."""

SERVICE_TYPES = {'ironic': 'baremetal', 'placement': 'placement'}
"""Types in the catalog of Keystone, by the group of the options."""

_UNLIMITED = contextlib.nullcontext()
"""Replaces keystoneauth's limiter of each request's rate. That one limits
nothing here, but uses the wall clock: after the clock was set back by an hour
it would hold every request for an hour."""

_MAY_PASS = frozenset((408, 425, 429))
_LONGEST = 300

ODD = (
    *(ValueError, TypeError, LookupError, AttributeError),
    *(RecursionError, OverflowError),
)
"""Errors of reading an answer that has other values than expected."""


@dataclasses.dataclass(frozen=True)
class Service:
    """A service, as errors name it.

    :param group: its group of the configuration.
    :param error: class of the errors that last.
    :param unavailable: class of the errors that may pass.
    """

    name: str
    group: str
    example: str
    error: type[exceptions.OwnershipError]
    unavailable: type[exceptions.OwnershipError]

    @property
    def endpoint_hint(self) -> str:
        return (
            f'Set [{self.group}] endpoint_override to the URL of '
            f"{self.name}'s API, such as {self.example}"
        )

    def send(
        self, adapter: Any, method: str, path: str, **how: Any
    ) -> requests.Response:
        """Send one request, and return every answer regardless of its status.

        It may arrive twice, so it has to be harmless to repeat.

        :param adapter: keystoneauth's, of this service.
        :raises OwnershipError: ``unavailable`` without an answer, ``error``
            if the configuration makes one impossible.
        """
        from keystoneauth1 import exceptions as ksa

        name = 'Keystone'
        try:
            # Apart, so that an outage has the name of its server.
            with pending.to(name):
                _twice(adapter.session.get_auth_headers)
            name = self.name
            with pending.to(name):
                return _send(adapter, method, path, **how)
        except ksa.SSLError as exc:
            cause = one_line(exc)
            raise self.error(
                f'No secure connection to {name}: {cause}',
                hint=f'Set [{self.group}] cafile to the certificate of its '
                'authority; compare its dates with the clock of this machine'
                if 'CERTIFICATE' in cause
                else 'Write http:// in its URL, unless it has TLS',
            ) from exc
        except (ksa.ConnectionError, ksa.HttpServerError) as exc:
            raise self.unavailable(
                f'{name} does not answer: {first_cause(exc)}'
            ) from exc
        # keystoneauth expects that each answer of Keystone has the right form.
        except (ksa.ClientException, OSError, *ODD) as exc:
            wrong = (
                'cafile, certfile and keyfile'
                if isinstance(exc, OSError)
                else 'auth_type, the credentials and endpoint_override'
            )
            raise self.error(
                f'The request to {name} failed: {one_line(exc)}',
                hint=f'Check {wrong} in [{self.group}]',
            ) from exc

    def json(self, answer: requests.Response) -> dict[str, Any]:
        """Return the JSON object in an answer.

        :raises OwnershipError: ``error`` if it holds anything else.
        """
        try:
            data = json.loads(answer.content)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise self.error(
                f'The answer to {request_line(answer)} is not a JSON object '
                f'but {body_summary(answer)}',
                hint=self.endpoint_hint,
            )
        return data


def may_pass(status: int) -> bool:
    """Tell whether a later request may get another status."""
    return status >= 500 or status in _MAY_PASS


def request_line(answer: requests.Response) -> str:
    """Return method and URL of an answered request, without its query."""
    return f'{answer.request.method or "GET"} {url(answer)}'


def url(answer: requests.Response) -> str:
    """Return the URL of an answered request, without its query."""
    return texts.without_credentials(str(answer.url).partition('?')[0])


def body_summary(answer: requests.Response) -> str:
    """Return size and type of a body that cannot be read."""
    media_type = answer.headers.get('Content-Type', 'unknown type')
    return f'{len(answer.content)} bytes of {media_type}'


def _send(
    adapter: Any, method: str, path: str, **how: Any
) -> requests.Response:
    answer: requests.Response = _twice(
        lambda: adapter.request(
            path,
            method,
            headers={'Accept': 'application/json'},
            raise_exc=False,
            redirect=False,
            connect_retries=0,
            status_code_retries=0,
            rate_semaphore=_UNLIMITED,
            log=False,
            **how,
        )
    )
    return answer


def _twice(call: Callable[[], Any]) -> Any:
    from keystoneauth1 import exceptions as ksa

    try:
        return call()
    except ksa.ConnectFailure as exc:
        if timed_out(exc):  # within the body
            raise
        return call()


def timed_out(exc: BaseException) -> bool:
    """Tell whether an error comes from a server that did not answer."""
    return any(isinstance(one, TimeoutError) for one in _causes(exc))


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    while exc:
        yield exc
        exc = exc.__cause__ or exc.__context__


def one_line(exc: BaseException) -> str:
    """Return the text of an error on one line, not too long."""
    # Without the id of the request: the same error has the same text.
    text = re.sub(r' \(Request-ID: [^)]*\)', '', ' '.join(str(exc).split()))
    return texts.without_credentials(text)[:_LONGEST]


def first_cause(exc: BaseException) -> str:
    """Return the text of an error, and of its first cause.

    keystoneauth's error wraps those of requests, urllib3 and the socket, and
    repeats the URL with its query.
    """
    what = one_line(exc).split(': ')[0].split('?')[0]
    *_, cause = _causes(exc)
    return f'{what}: {one_line(cause)}'


def register_opts(conf: cfg.ConfigOpts, group: str) -> None:
    """Register the options of one service, after the files were read.

    Those of the kind of authentication, too, if that is set: call it again
    after it was set to another one.
    """
    from keystoneauth1 import loading

    conf.register_opts(own_opts(group), group=group)
    loading.register_auth_conf_options(conf, group)
    register_auth_opts(conf, group)


def register_auth_opts(
    conf: cfg.ConfigOpts, group: str
) -> list[tuple[str, cfg.Opt]]:
    """Register the options of the kind of authentication that is set.

    An unknown one is reported when it is used.

    :returns: group and option of each; the group is ``auth_section``, if that
        is set.
    """
    from keystoneauth1 import exceptions as ksa
    from keystoneauth1 import loading

    try:
        section = conf[group].auth_section or group
        loading.register_auth_conf_options(conf, section)
        name = conf[section].auth_type
        if name is None:
            return []
        opts = loading.get_auth_plugin_conf_options(name)
        conf.register_opts(opts, group=section)
    except (ksa.ClientException, ValueError, cfg.Error):
        return []
    return [(section, opt) for opt in opts]


def own_opts(group: str) -> list[cfg.Opt]:
    """Return the options of one service but those of credentials."""
    from keystoneauth1 import loading

    opts: list[cfg.Opt] = [
        *loading.get_session_conf_options(),
        *loading.get_adapter_conf_options(include_deprecated=False),
    ]
    cfg.set_defaults(opts, timeout=TIMEOUT, service_type=SERVICE_TYPES[group])
    return opts


def connect(conf: cfg.ConfigOpts, group: str) -> ksa_adapter.Adapter:
    """Build the adapter to one service from its group.

    :raises IronicError: naming the line that is missing or wrong.
    :raises ConfigurationError: if a value has not the type of its option.
    """
    from keystoneauth1 import exceptions as ksa
    from keystoneauth1 import loading

    with read_errors(group):
        register_opts(conf, group)
        _check_url(conf, group, 'endpoint_override')
        try:
            auth = loading.load_auth_from_conf_options(conf, group)
            if auth is None:
                raise _auth_error(group, 'auth_type is not set')
            session = loading.load_session_from_conf_options(
                conf, group, auth=auth
            )
        except ksa.ClientException as exc:
            raise _auth_error(group, ' '.join(str(exc).split())) from exc
        _check_endpoint(conf, group)
        if not 0 < conf[group].timeout <= threading.TIMEOUT_MAX:
            raise exceptions.ConfigurationError(
                [f'[{group}] timeout = {conf[group].timeout}: no time limit'],
                hint='Set it to more than 0 seconds, or remove the line: the '
                f'default is {TIMEOUT:g} seconds',
            )
        found: ksa_adapter.Adapter = loading.load_adapter_from_conf_options(
            conf, group, session=session, auth=auth
        )
        return found


@contextlib.contextmanager
def read_errors(group: str) -> Iterator[None]:
    """Translate errors of oslo.config for one group.

    :raises ConfigurationError: if a value has not the type of its option.
    """
    try:
        yield
    except cfg.Error as exc:
        raise exceptions.ConfigurationError([f'[{group}] {exc}']) from exc


@contextlib.contextmanager
def odd_values(kind: Callable[[str], Exception], what: str) -> Iterator[None]:
    """Raise a kind of error where an answer has other values than expected."""
    try:
        yield
    except ODD as exc:
        raise kind(what) from exc


def number(found: object) -> int:
    """Return a number of things in an answer.

    :raises ValueError: if it is none.
    """
    if type(found) is not int or found < 0:
        raise ValueError(f'{found!r} is not a number of things')
    return found


def value(conf: cfg.ConfigOpts, group: str, name: str) -> Any:
    """Return the value of one option."""
    with read_errors(group):
        return conf[group][name]


def _check_endpoint(conf: cfg.ConfigOpts, group: str) -> None:
    section = conf[group].auth_section or group
    if conf[section].auth_type != 'none' or conf[group].endpoint_override:
        return
    _check_url(conf, section, 'endpoint')
    if not conf[section].endpoint:
        raise exceptions.IronicError(
            f'[{group}] endpoint_override is not set, and without Keystone '
            '(auth_type = none) no other option names the service',
            hint='Add endpoint_override = http://ironic.example.org:6385',
        )


def _check_url(conf: cfg.ConfigOpts, group: str, name: str) -> None:
    url: Any = conf[group][name]
    if not url:
        return
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ('http', 'https') and bool(parts.hostname)
        good = good and parts.port != 0
    except ValueError:
        good = False
    if not good or any(c.isspace() for c in url):
        raise exceptions.IronicError(
            f'[{group}] {name} = {texts.without_credentials(url)} is not a '
            'URL',
            hint='Write it as http://host:port or https://host:port',
        )


def _auth_error(group: str, what: str) -> exceptions.IronicError:
    return exceptions.IronicError(
        f'The credentials in [{group}] cannot be used: {what}',
        hint='Add auth_type = password with auth_url, username, password, '
        'user_domain_name and system_scope = all; or, without Keystone, '
        'auth_type = none and endpoint_override',
    )
