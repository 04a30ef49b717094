"""A second API of an Ironic, which checks tokens of Keystone and scopes.

It shares the database of an Ironic that runs, and only reads: it has no
conductor to call.
"""

from __future__ import annotations

import http.client
import pathlib
from collections.abc import Mapping

from lab import ironic, ironic_api, process, service

_CONFIGURATION = """\
rpc_transport = json-rpc
# The role "service" sees all nodes in this project, and in no other.
rbac_service_role_elevated_access = true
rbac_service_project_name = admin
[json_rpc]
auth_strategy = noauth
[database]
connection = sqlite:///{database}
[api]
host_ip = 127.0.0.1
port = {port}
api_workers = 1
[oslo_policy]
enforce_scope = true
enforce_new_defaults = true
[oslo_concurrency]
lock_path = {directory}/lock
[keystone_authtoken]
"""


class TokenAPI(service.Service):
    """The API, with ``auth_strategy = keystone``.

    :param directory: for its files.
    :param of: the Ironic whose nodes it shows.
    :param keystone: the options of ``[keystone_authtoken]``.
    :param middleware: its options.
    """

    title = 'Ironic with tokens'

    def __init__(
        self,
        directory: pathlib.Path,
        of: ironic.Ironic,
        keystone: Mapping[str, str],
        *,
        middleware: ironic_api.Middleware = None,
    ) -> None:
        super().__init__(directory)
        self._of = of
        self._keystone = keystone
        self._middleware = middleware

    def _prepare(self) -> process.Process:
        venv = ironic_api.environment(self._middleware)
        config = self.directory / 'ironic.conf'
        common = ironic_api.CONFIGURATION.replace('= noauth', '= keystone')
        own = _CONFIGURATION.format(
            database=self._of.database,
            port=self.port,
            directory=self.directory,
        )
        tokens = ''.join(f'{k} = {v}\n' for k, v in self._keystone.items())
        more = ironic_api.middleware_text(self._middleware)
        config.write_text(common + own + tokens + more)
        return ironic_api.program(
            venv,
            'api',
            ['--config-file', str(config)],
            self.directory / 'ironic.log',
        )

    def _works(self) -> bool:
        connection = http.client.HTTPConnection(
            '127.0.0.1', self.port, timeout=60
        )
        try:
            connection.request('GET', '/v1/nodes')
            return connection.getresponse().status == 401
        except OSError:
            return False
        finally:
            connection.close()
