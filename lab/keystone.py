"""A real Keystone on gunicorn and SQLite.

It has the user ``admin`` with the password ``admin`` and the role ``admin`` in
the project ``admin`` and in the system, and the users that tests add.
"""

from __future__ import annotations

import base64
import functools
import os
import pathlib
from typing import TYPE_CHECKING, Any

from lab import process, service, venvs

if TYPE_CHECKING:
    from keystoneauth1 import session as ksa_session

REQUIREMENTS = ('keystone==30.0.0', 'gunicorn>=22')
ADMIN = 'admin'
"""User, password, project and role."""

_CONFIGURATION = """\
[DEFAULT]
log_file = {directory}/keystone.log
[cache]
# Validating a token without it takes eight times as long.
backend = dogpile.cache.memory
[credential]
key_repository = {directory}/credential-keys
[database]
connection = sqlite:///{directory}/keystone.db
# The data need not survive a power cut.
sqlite_synchronous = false
[fernet_receipts]
key_repository = {directory}/fernet-keys
[fernet_tokens]
key_repository = {directory}/fernet-keys
[identity]
password_hash_rounds = 4
"""


class Keystone(service.Service):
    """One Keystone with its files in one directory.

    :param directory: created if missing; existing files are used again.
    :param port: where to listen on 127.0.0.1; a free port if not given.
    """

    title = 'Keystone'

    @property
    def url(self) -> str:
        """URL of the API, version 3."""
        return f'{self.endpoint}/v3'

    def options(self) -> dict[str, str]:
        """Return the options of a service's ``[keystone_authtoken]``."""
        return {
            'auth_type': 'password',
            'auth_url': self.url,
            'www_authenticate_uri': self.url,
            'username': ADMIN,
            'password': ADMIN,
            'project_name': ADMIN,
            'user_domain_id': 'default',
            'project_domain_id': 'default',
            'interface': 'public',
        }

    def _prepare(self) -> process.Process:
        binaries = venvs.ensure('keystone', REQUIREMENTS) / 'bin'
        config = self.directory / 'keystone.conf'
        config.write_text(_CONFIGURATION.format(directory=self.directory))
        if not (self.directory / 'ready').exists():
            self._bootstrap(binaries, config)
            (self.directory / 'ready').touch()
        return process.Process(
            [str(binaries / 'gunicorn')],
            self.directory / 'gunicorn.log',
            env={
                **self._gunicorn('keystone.wsgi.api:application'),
                'OS_KEYSTONE_CONFIG_DIR': str(self.directory),
                'OS_KEYSTONE_CONFIG_FILES': config.name,
            },
        )

    def _bootstrap(self, binaries: pathlib.Path, config: pathlib.Path) -> None:
        # As "fernet_setup" and "credential_setup" do, without their programs.
        for name in ('fernet-keys', 'credential-keys'):
            keys = self.directory / name
            keys.mkdir(mode=0o700, exist_ok=True)
            for number in ('0', '1'):
                key = base64.urlsafe_b64encode(os.urandom(32))
                (keys / number).write_bytes(key)
        manage = binaries / 'keystone-manage', '--config-file', config
        process.output([*manage, 'db_sync'])
        process.output(
            [
                *(*manage, 'bootstrap', '--bootstrap-password', ADMIN),
                *('--bootstrap-public-url', self.url),
            ]
        )

    def _works(self) -> bool:
        from keystoneauth1 import exceptions

        try:
            return bool(self.token())
        except exceptions.ClientException:
            return False

    def token(self, user: str = ADMIN, *, system: bool = False) -> str:
        """Return a new token of a user, whose password is the user's name.

        :param system: for the system instead of the project.
        """
        token = self._session(user, system=system).get_token()
        assert token is not None
        return token

    def add(
        self,
        user: str,
        role: str | None,
        *,
        system: bool = False,
        project: str = ADMIN,
    ) -> None:
        """Add a user with one role, in a project or in the system.

        :param role: ``None`` for a user who may nothing anywhere.
        :param project: created if there is none of that name.
        """
        made = self._request(
            'POST',
            '/users',
            {'user': {'name': user, 'password': user, 'domain_id': 'default'}},
        )['user']['id']
        if role is None:
            return
        roles = self._request('GET', f'/roles?name={role}')['roles']
        where = 'system' if system else f'projects/{self.project(project)}'
        path = f'/{where}/users/{made}/roles/{roles[0]["id"]}'
        self._request('PUT', path)

    def project(self, name: str) -> str:
        """Return the id of a project, which is created if it is missing."""
        found = self._request('GET', f'/projects?name={name}')['projects']
        if not found:
            made = {'project': {'name': name, 'domain_id': 'default'}}
            found = [self._request('POST', '/projects', made)['project']]
        return str(found[0]['id'])

    def publish(self, service_type: str, url: str) -> None:
        """Put the one public endpoint of a service into the catalog."""
        found = self._request('GET', f'/services?type={service_type}')
        for one in found['services']:
            self._request('DELETE', f'/services/{one["id"]}')
        made = self._request(
            'POST',
            '/services',
            {'service': {'name': service_type, 'type': service_type}},
        )['service']['id']
        self._request(
            'POST',
            '/endpoints',
            {
                'endpoint': {
                    'interface': 'public',
                    'service_id': made,
                    'url': url,
                }
            },
        )

    def revoke(self, token: str) -> None:
        """Revoke a token."""
        answer = self._session(ADMIN).delete(
            f'{self.url}/auth/tokens', headers={'X-Subject-Token': token}
        )
        assert answer.ok

    @functools.cached_property
    def _admin(self) -> ksa_session.Session:
        """A session that keeps its token: Keystone takes long to make one."""
        return self._session(ADMIN)

    def _session(
        self, user: str, *, system: bool = False
    ) -> ksa_session.Session:
        from keystoneauth1 import session
        from keystoneauth1.identity import v3

        where: dict[str, Any] = (
            {'system_scope': 'all'}
            if system
            else {'project_name': ADMIN, 'project_domain_id': 'default'}
        )
        return session.Session(
            v3.Password(
                self.url,
                username=user,
                password=user,
                user_domain_id='default',
                **where,
            )
        )

    def _request(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._admin.request(f'{self.url}{path}', method, json=body)
        return answer.json() if answer.content else None
