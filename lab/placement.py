"""A real Placement on gunicorn and SQLite.

No authentication: a request with the token ``admin`` is allowed everything.
Providers and inventories of tests are written through its own API.
"""

from __future__ import annotations

import pathlib
import uuid as uuid_
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lab import process, service, venvs

if TYPE_CHECKING:
    import requests
    from keystoneauth1 import adapter as ksa_adapter

REQUIREMENTS = ('openstack-placement==16.0.0', 'gunicorn>=22')
MICROVERSION = '1.39'
TOKEN = 'admin'
RESOURCE_CLASS = 'CUSTOM_BAREMETAL'
_CONFIGURATION = """\
[DEFAULT]
log_file = {directory}/placement.log
[api]
auth_strategy = {strategy}
[placement_database]
connection = sqlite:///{directory}/placement.db
# The data need not survive a power cut.
sqlite_synchronous = false
"""


class Placement(service.Service):
    """One Placement with its files in one directory.

    :param directory: created if missing; existing files are used again.
    :param port: where to listen on 127.0.0.1; a free port if not given.
    :param keystone: the options of ``[keystone_authtoken]``, for one that
        checks tokens.
    :param token: of an admin, for the requests of :meth:`send`.
    """

    title = 'Placement'
    _adapter: ksa_adapter.Adapter | None = None

    def __init__(
        self,
        directory: pathlib.Path,
        *,
        port: int | None = None,
        keystone: Mapping[str, str] | None = None,
        token: str = TOKEN,
    ) -> None:
        super().__init__(directory, port=port)
        self._keystone = keystone
        self._token = token

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Return the options of a client's ``[placement]``.

        :param endpoint: another URL to reach it by, such as a proxy's.
        """
        return {
            'auth_type': 'admin_token',
            'endpoint': endpoint or self.endpoint,
            'token': TOKEN,
            'report_inventory': 'true',
        }

    def _prepare(self) -> process.Process:
        binaries = venvs.ensure('placement', REQUIREMENTS) / 'bin'
        config = self.directory / 'placement.conf'
        common = _CONFIGURATION.format(
            directory=self.directory,
            strategy='keystone' if self._keystone else 'noauth2',
        )
        tokens = (self._keystone or {}).items()
        config.write_text(
            '\n'.join(
                [
                    common,
                    '[keystone_authtoken]',
                    *(f'{name} = {value}' for name, value in tokens),
                    '',
                ]
            )
        )
        venvs.copy_or_make(
            binaries.with_name('schema.db'),
            self.directory / 'placement.db',
            [
                *(str(binaries / 'placement-manage'), '--config-file'),
                *(str(config), 'db', 'sync'),
            ],
        )
        return process.Process(
            [str(binaries / 'gunicorn')],
            self.directory / 'gunicorn.log',
            env={
                **self._gunicorn('placement.wsgi.api:application', threads=1),
                'OS_PLACEMENT_CONFIG_DIR': str(self.directory),
            },
        )

    def _works(self) -> bool:
        from keystoneauth1 import exceptions

        try:
            return bool(self.send('GET', '/resource_providers').ok)
        except exceptions.ClientException:
            return False

    def adapter(self) -> ksa_adapter.Adapter:
        """Return an adapter for raw requests, kept for the next call."""
        if self._adapter is None:
            from keystoneauth1 import adapter, session, token_endpoint

            self._adapter = adapter.Adapter(
                session.Session(
                    token_endpoint.Token(self.endpoint, self._token)
                ),
                service_type='placement',
                default_microversion=MICROVERSION,
                raise_exc=False,
            )
        return self._adapter

    def send(
        self, method: str, path: str, *, json: Any = None
    ) -> requests.Response:
        """Send one request and return the response, errors as well."""
        answer: requests.Response = self.adapter().request(
            path, method, json=json, connect_retries=1
        )
        return answer

    def request(
        self, method: str, path: str, *, json: Any = None
    ) -> dict[str, Any]:
        """Send one request that has to succeed.

        :returns: the JSON of the answer; empty if there was none.
        :raises LabError: with Placement's own text, if it refuses.
        """
        answer = self.send(method, path, json=json)
        if not answer.ok:
            raise process.LabError(
                f'Placement refused {method} {path}: '
                f'{answer.status_code} {answer.text}'
            )
        return dict(answer.json()) if answer.content else {}

    def provide(self, *uuids: str) -> None:
        """Add a provider for each node: one unit of bare metal."""
        for uuid in uuids:
            self.request(
                'POST',
                '/resource_providers',
                json={'uuid': uuid, 'name': uuid},
            )
            self.set_inventory(uuid, {RESOURCE_CLASS: 1})

    def set_inventory(self, uuid: str, totals: Mapping[str, int]) -> None:
        """Replace the inventory of a provider."""
        for name in totals:
            if name.startswith('CUSTOM_'):
                self.request('PUT', f'/resource_classes/{name}')
        inventories = {n: {'total': t} for n, t in totals.items()}
        self._replace(uuid, 'inventories', inventories)

    def set_traits(self, uuid: str, names: Iterable[str]) -> None:
        """Replace the traits of a provider."""
        for name in names:
            if name.startswith('CUSTOM_'):
                self.request('PUT', f'/traits/{name}')
        self._replace(uuid, 'traits', sorted(names))

    def set_aggregates(self, uuid: str, aggregates: Iterable[str]) -> None:
        """Replace the aggregates of a provider."""
        self._replace(uuid, 'aggregates', sorted(aggregates))

    def _replace(self, uuid: str, what: str, value: object) -> None:
        body = {
            'resource_provider_generation': self.generation(uuid),
            what: value,
        }
        path = f'/resource_providers/{uuid}/{what}'
        self.request('PUT', path, json=body)

    def allocate(self, uuid: str, consumer: str | None = None) -> str:
        """Allocate the one unit of a provider; return the consumer."""
        consumer = consumer or str(uuid_.uuid4())
        self.request(
            'PUT',
            f'/allocations/{consumer}',
            json={
                'allocations': {uuid: {'resources': {RESOURCE_CLASS: 1}}},
                'project_id': 'lab',
                'user_id': 'lab',
                'consumer_generation': None,
                'consumer_type': 'INSTANCE',
            },
        )
        return consumer

    def free(self, consumer: str) -> None:
        """Delete the allocations of a consumer."""
        self.request('DELETE', f'/allocations/{consumer}')

    def generation(self, uuid: str) -> int:
        """Return the generation of a provider."""
        found = self.request('GET', f'/resource_providers/{uuid}')
        return int(found['generation'])

    def providers(self) -> set[str]:
        """Return the uuids of all providers."""
        found = self.request('GET', '/resource_providers')
        return {p['uuid'] for p in found['resource_providers']}

    def count_requests(self) -> int:
        """Return the number of requests since the start, by its log."""
        log = self.directory / 'placement.log'
        return log.read_bytes().count(b'placement.requestlog')

    def clear(self) -> None:
        """Delete every allocation and every provider."""
        for uuid in self.providers():
            found = self.request(
                'GET', f'/resource_providers/{uuid}/allocations'
            )
            for consumer in found['allocations']:
                self.free(consumer)
            self.request('DELETE', f'/resource_providers/{uuid}')
