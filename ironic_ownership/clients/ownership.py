"""Client of our own HTTP service, over a session of keystoneauth."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ironic_ownership.clients import transport
from ironic_ownership.contracts import exceptions, refusals
from ironic_ownership.contracts.calls import new_request_id, pending

if TYPE_CHECKING:
    import requests
    from keystoneauth1 import session as ksa_session

SERVICE_TYPE = 'baremetal-ownership'
"""The type of the service in the catalog of Keystone."""

OVERRIDE = 'baremetal_ownership_endpoint_override'
"""The key of the endpoint in a cloud of clouds.yaml."""

TIMEOUT = 300.0
"""Seconds for which a request waits, unless the cloud has ``api_timeout``. The
service may read all of Ironic before it answers."""

LOG = logging.getLogger(__name__)

_REQUEST_ID = 'x-openstack-request-id'
_ALIAS = '--os-endpoint'
_RUNS = 'Check that ironic-ownership-api runs, and its URL'


class RemoteError(exceptions.OwnershipError):
    """An error that the HTTP service reports, as in the service's process.

    :ivar request_id: under which the service logs the request.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = '',
        details: Mapping[str, Any] | None = None,
        request_id: str = '',
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.exit_code = refusals.exit_code_of(code)
        self._details = dict(details or {})
        self.request_id = request_id

    @property
    def details(self) -> dict[str, Any]:
        """Details for programs, as the service sent them."""
        return self._details


class ConnectionOptionsError(exceptions.OwnershipError):
    """The options do not lead to the HTTP service."""

    code = 'connection'


def add_arguments(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    """Add the options of openstacksdk, of keystoneauth and of its plugin.

    :param argv: selects the plugin; ``--os-endpoint`` is replaced in place.
    :raises ConnectionOptionsError: if a cloud or plugin does not exist.
    """
    for number, word in enumerate(argv):
        name, equals, value = word.partition('=')
        if name.replace('_', '-') == _ALIAS:
            argv[number] = f'{_ALIAS}-override{equals}{value}'
    try:
        _configuration().register_argparse_arguments(
            parser, argv, [SERVICE_TYPE]
        )
    except cloud_errors() as exc:
        raise _bad_options(exc) from exc


def connect(options: argparse.Namespace) -> OwnershipClient:
    """Return a client for the parsed options; nothing is sent yet.

    :raises ConnectionOptionsError: if an option is missing or wrong.
    """
    configuration = _configuration()
    try:
        config = configuration.get_one(argparse=options, validate=False).config
        endpoint = config.get('endpoint_override')
        if endpoint and _is_anonymous(config):
            options = argparse.Namespace(
                **{**vars(options), 'os_auth_type': 'none'}
            )
        region = configuration.get_one(argparse=options)
        session = region.get_session()
        return OwnershipClient(
            session,
            new_request_id(),
            interface=region.get_interface(SERVICE_TYPE),
            region_name=region.get_region_name(SERVICE_TYPE),
            endpoint_override=region.get_endpoint(SERVICE_TYPE) or endpoint,
        )
    except cloud_errors() as exc:
        raise _bad_options(exc) from exc


def over_session(manager: Any) -> OwnershipClient:
    """Return a client in a session of OpenStackClient.

    :param manager: the client manager, authenticated.
    """
    config = manager.get_configuration()
    return OwnershipClient(
        manager.session,
        new_request_id(),
        interface=manager.interface,
        region_name=manager.region_name,
        endpoint_override=config.get(OVERRIDE)
        or config.get('endpoint_override'),
    )


def cloud_errors() -> tuple[type[Exception], ...]:
    """Return the errors of reading a cloud of clouds.yaml."""
    from keystoneauth1 import exceptions as ksa
    from openstack import exceptions as sdk

    # Its library expects that each value has the right form.
    return (sdk.SDKException, ksa.ClientException, *transport.ODD)


def _is_anonymous(config: Mapping[str, Any]) -> bool:
    return config['auth_type'] == 'password' and not config['auth'].get(
        'auth_url'
    )


def _configuration() -> Any:
    from openstack import config

    return config.OpenStackConfig(app_name='ironic-ownership')


def _bad_options(exc: Exception) -> ConnectionOptionsError:
    what = transport.one_line(exc).rstrip('.')
    if isinstance(exc, TypeError | LookupError | AttributeError):
        what = f'clouds.yaml has a value of another form ({what})'
    return ConnectionOptionsError(
        f'the HTTP service cannot be used: {what}',
        hint='Name a cloud of clouds.yaml with --os-cloud, or the URL of a '
        'service without Keystone with --os-endpoint-override',
    )


class OwnershipClient:
    """Sends requests to the HTTP service.

    :param how: endpoint filters, or an override, for the adapter.
    """

    def __init__(
        self, session: ksa_session.Session, request_id: str, **how: Any
    ) -> None:
        from keystoneauth1 import adapter

        self.request_id = request_id
        self._session = session
        session.timeout = session.timeout or TIMEOUT
        self._name = (
            f'the HTTP service at {how.get("endpoint_override")}'
            if how.get('endpoint_override')
            else 'the HTTP service, or Keystone'
        )
        self._adapter = adapter.Adapter(
            session,
            service_type=SERVICE_TYPE,
            global_request_id=request_id,
            **how,
        )

    def close(self) -> None:
        """Close the connections of the session. Idempotent."""
        self._session.session.close()

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request, and return the body of the answer.

        :param path: with the query.
        :raises RemoteError: if the service reports an error.
        :raises OwnershipError: if nothing answers, or another service.
        """
        from keystoneauth1 import exceptions as ksa

        try:
            with pending.to(self._name):
                answer = self._adapter.request(
                    path,
                    method,
                    headers={'Accept': 'application/json'},
                    raise_exc=False,
                    redirect=False,
                    **({} if body is None else {'json': body}),
                )
        except ksa.ClientException as exc:
            raise _unanswered(exc) from exc
        except ValueError as exc:  # requests': a URL that is none
            raise _bad_options(exc) from exc
        LOG.info(
            '%s %s: %s, %s',
            method,
            path.partition('?')[0],
            answer.status_code,
            answer.headers.get(_REQUEST_ID, 'no request id'),
        )
        return _body_of(answer)


def _body_of(answer: requests.Response) -> Any:
    try:
        body = json.loads(answer.content) if answer.content else None
    except (ValueError, RecursionError):
        raise _foreign(answer) from None
    if answer.status_code < 300 and isinstance(body, dict):
        return body
    error = body.get('error') if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get('code'), str):
        raise _foreign(answer)
    message, hint = (str(error.get(key, '')) for key in ('message', 'hint'))
    if answer.status_code == 401:
        # The service's own hint is for those who send requests.
        message = 'the HTTP service does not accept the credentials'
        hint = (
            'Check user and password of the cloud, or the --os-... options. '
            'If Keystone accepts them, compare its clock, and its URL, with '
            'those of the service'
        )
    raise RemoteError(
        error['code'],
        message,
        hint=hint,
        details=error.get('details'),
        request_id=str(error.get('request_id', '')),
    )


def _foreign(answer: requests.Response) -> ConnectionOptionsError:
    if answer.status_code in (502, 503, 504):
        return ConnectionOptionsError(
            f'the HTTP service behind {transport.url(answer)} does not '
            f'answer: {answer.status_code}',
            hint=_RUNS,
        )
    return ConnectionOptionsError(
        f'{transport.url(answer)} is not the HTTP service of '
        f'ironic-ownership: it answers {answer.status_code} with '
        f'{transport.body_summary(answer)}',
        hint='Check --os-endpoint-override, or the endpoint of the type '
        f'{SERVICE_TYPE} in the catalog of Keystone',
    )


def _unanswered(exc: Exception) -> exceptions.OwnershipError:
    from keystoneauth1 import exceptions as ksa

    if isinstance(exc, ksa.EndpointNotFound | ksa.CatalogException):
        return ConnectionOptionsError(
            f'the catalog of Keystone has no endpoint of type {SERVICE_TYPE}',
            hint='Create one, or name the URL with --os-endpoint-override',
        )
    if isinstance(exc, ksa.HttpServerError):
        return ConnectionOptionsError(
            f'Keystone does not answer: {transport.one_line(exc)}',
            hint='Repeat the command once Keystone runs',
        )
    if isinstance(exc, ksa.HttpError):
        return ConnectionOptionsError(
            f'Keystone refuses the credentials: {transport.one_line(exc)}',
            hint='Check user, password, project and domains of the cloud',
        )
    # That of requests for a URL that is none; others broke off.
    is_usage = isinstance(getattr(exc, 'original', None), ValueError)
    if is_usage or not isinstance(exc, ksa.ConnectionError):
        return _bad_options(exc)
    return ConnectionOptionsError(
        f'no answer: {transport.first_cause(exc)}', hint=_RUNS
    )
