"""Tokens and rules of the HTTP service, with a real Keystone."""

from __future__ import annotations

import json
import socket

from ironic_ownership.clients import ownership
from tests.functional.support import api_process, command_line, keystones


class KeystoneCase(api_process.ApiCase):
    nodes_of_each = 1

    def setUp(self) -> None:
        super().setUp()
        self.keystone = keystones.shared()
        self.keystone.start()
        lines = [f'{k} = {v}' for k, v in self.keystone.options().items()]
        self.api = self.serve(
            '\n'.join(
                [
                    'auth_strategy = keystone',
                    f'service_projects = {self.keystone.project("admin")}',
                    # Reachable by others, which needs tokens.
                    'host_ip = 0.0.0.0',
                    '[keystone_authtoken]',
                    *lines,
                ]
            )
        )


class KeystoneTest(KeystoneCase):
    def status(self, method: str, path: str, token: str = '', body=None):
        """Return the status and, of an error, the code."""
        headers = {'X-Auth-Token': token} if token else {}
        answer = self.api.ask(method, path, body, headers)
        error = (answer.body or {}).get('error', {})
        return answer.status, error.get('code')

    def test_role_decides(self) -> None:
        # With tokens, it listens where the configuration has it.
        socket.create_connection(('127.0.0.2', self.api.port)).close()
        move = {
            'service': 'new',
            'select': {'uuids': self.nodes[:1]},
            'dry_run': True,
        }
        reservation = f'/v1/reservations/{self.nodes[0]}'
        for token, reads, moves, reserves in (
            (self.keystone.token(system=True), 200, 200, 404),
            # The admin of any project, such as that of a customer.
            (self.keystone.token(), 403, 403, 403),
            (self.keystone.token('mary'), 403, 403, 403),
            (self.keystone.token('rita', system=True), 200, 403, 403),
            (self.keystone.token('sven'), 403, 403, 404),
        ):
            for method, path, status, body in (
                ('GET', '/v1/compute-nodes', reads, None),
                ('GET', '/metrics', reads, None),
                ('POST', '/v1/moves', moves, move),
                ('DELETE', reservation, reserves, None),
            ):
                said = self.status(method, path, token, body)
                self.assertEqual(status, said[0], (path, said))
                if status == 403:
                    self.assertEqual('forbidden', said[1])

    def test_invalid_token_reveals_nothing_and_outage_is_reported(
        self,
    ) -> None:
        revoked = self.keystone.token('rita', system=True)
        self.keystone.revoke(revoked)
        for token in ('', 'made-up', revoked):
            self.assertEqual(
                (401, 'unauthenticated'),
                self.status('GET', '/v1/services', token),
            )
        self.assertEqual(200, self.status('GET', '/')[0])
        self.assertEqual(200, self.status('GET', '/openapi.json')[0])
        token = self.keystone.token(system=True)
        self.keystone.kill()
        said = self.status('GET', '/v1/services', token)
        self.assertEqual(503, said[0], said)
        self.keystone.start()
        self.assertEqual(200, self.status('GET', '/v1/services', token)[0])


class CommandLineTest(KeystoneCase):
    """``ironic-ownership --os-cloud``, with the catalog and clouds.yaml."""

    def setUp(self) -> None:
        super().setUp()
        self.keystone.publish(ownership.SERVICE_TYPE, self.api.url)
        system = {'system_scope': 'all'}
        project = {'project_name': 'admin', 'project_domain_id': 'default'}
        clouds = {
            name: {
                'auth': {
                    'auth_url': self.keystone.url,
                    'username': user,
                    'password': password,
                    'user_domain_id': 'default',
                    **where,
                }
            }
            for name, user, password, where in (
                ('rita', 'rita', 'rita', system),
                ('mary', 'mary', 'mary', project),
                ('admin', 'admin', 'admin', system),
                ('wrong', 'rita', 'wrong', system),
            )
        }
        self.clouds = self.lab.directory / 'clouds.yaml'
        self.clouds.write_text(json.dumps({'clouds': clouds}))

    def run_with(self, *words: str, **env: str) -> command_line.Done:
        """Run the program without a configuration of its own."""
        return command_line.run(
            *words, env={'OS_CLIENT_CONFIG_FILE': str(self.clouds), **env}
        )

    def test_user_reads_what_the_database_has_and_is_the_actor(self) -> None:
        words = ('compute', 'node', 'list', '--long', '-f', 'json')
        expected = self.lab.run(*words)
        done = self.run_with('--os-cloud', 'rita', *words)
        self.assertEqual(
            (0, expected.stdout, expected.stderr),
            (done.returncode, done.stdout, done.stderr),
        )
        for text, *given in (
            (
                'the rule ironic_ownership:service:list does not allow it',
                'mary',
            ),
            ('Keystone refuses the credentials', 'wrong'),
            (
                'no endpoint of type baremetal-ownership',
                *('rita', '--os-region-name', 'x'),
            ),
            ('Cloud nosuch was not found', 'nosuch'),
        ):
            done = self.run_with('--os-cloud', *given, 'service', 'list')
            self.assertEqual((1, ''), (done.returncode, done.stdout), done)
            self.assertIn(text, done.stderr)
            self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        done = self.run_with(
            *('--os-cloud', 'admin', 'compute', 'node', 'move'),
            *(self.nodes[0], '--service', 'new', '--yes'),
        )
        self.assertEqual(0, done.returncode, done)
        (move,) = self.lab.json('move', 'list')
        self.assertRegex(move['actor'], '^[0-9a-f]{32}@all$')
        # The environment alone does not choose the service.
        words = ('--config-file', str(self.lab.config), 'event', 'list')
        self.api.process.kill()
        done = self.run_with(*words, OS_CLOUD='mary')
        self.assertEqual((0, ''), (done.returncode, done.stderr), done)
