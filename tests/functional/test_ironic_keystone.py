"""Credentials for Ironic and Placement, both with enforced scopes."""

from __future__ import annotations

import json
import pathlib
from concurrent import futures
from typing import Any, NamedTuple

from ironic_ownership.contracts import model
from lab import certificates, ironic_tokens, placement
from tests.functional.support import (
    command_line,
    databases,
    host_process,
    ironics,
    keystones,
)

GONE = '00000000-0000-4000-8000-0000000000a1'
_SYSTEM = 'system_scope = all'
_PROJECT = 'project_domain_id = default\nproject_name = {}'


class Credential(NamedTuple):
    """A user with a scope, and whether it sees every node."""

    user: str
    scope: str
    sees: bool


CREDENTIALS = {
    'reader in the system': Credential('rita', _SYSTEM, True),
    'elevated service': Credential('sven', _PROJECT.format('admin'), True),
    'service': Credential('olga', _PROJECT.format('other'), False),
    'reader of a project': Credential('paul', _PROJECT.format('admin'), False),
    'member of a project': Credential('mary', _PROJECT.format('admin'), False),
    'admin of a project': Credential('anna', _PROJECT.format('other'), False),
    'no role': Credential('nemo', _PROJECT.format('other'), False),
}


class CredentialsTest(ironics.IronicTestCase):
    """``old`` owns one node that Ironic has, and one that is gone."""

    def setUp(self) -> None:
        super().setUp()
        self.keystone = keystones.shared()
        self.keystone.start()
        (self.node,) = self.enrolment.enrol(1)
        self.tokens = self.enterContext(
            ironic_tokens.TokenAPI(
                databases.temporary_directory('tokens'),
                self.server,
                self.keystone.options(),
            )
        )
        self.lab = command_line.Deployment(self.server.endpoint)
        self.addCleanup(self.lab.close)
        old = self.lab.serve('old', command_line.ALL, alive=False)
        self.lab.claim('old', old, model.Node(self.node, name='there'))
        self.lab.claim('old', old, model.Node(GONE, name='gone'))

    def run_as(self, one: Credential, *words: str) -> command_line.Done:
        return self.lab.run(*words, config=self.configure(one))

    def configure(self, one: Credential, host: str = 'x') -> pathlib.Path:
        return self.lab.configure(
            one.user,
            host=host,
            ironic='auth_type = password\n'
            f'auth_url = {self.keystone.url}\n'
            f'username = {one.user}\npassword = {one.user}\n'
            f'user_domain_id = default\n{one.scope}\n'
            f'endpoint_override = {self.tokens.endpoint}\ntimeout = 180',
        )

    def outcome(self, one: Credential) -> dict[str, Any]:
        """Try what an operator tries; return what it came to."""
        listed = self.run_as(one, 'compute', 'node', 'list', '-f', 'json')
        rows = json.loads(listed.stdout or '[]')
        states = {row['name']: row['state'] for row in rows}
        delete = ('compute', 'node', 'delete')
        there = self.run_as(one, *delete, self.node, '--yes')
        gone = self.run_as(one, *delete, GONE, '--dry-run')
        return {
            'state': states.get('there'),
            'there': there.returncode,
            'gone': gone.returncode,
            'output': (listed, there, gone),
        }

    def test_blind_credential_is_one_error_until_it_has_the_role(self) -> None:
        host = self.start(CREDENTIALS['service'])
        host.process.wait_until(self.blind_found, 'finding of the check')
        (line,) = host.lines('may not read')
        for word in (' ERROR ', '/v1/shards', '/v1/conductors', '"reader"'):
            self.assertIn(word, line)
        self.assertEqual(0, host.terminate())
        host = self.start(CREDENTIALS['reader in the system'])
        host.process.wait_until(
            lambda: host.lines(' registered, epoch '), 'registration'
        )
        host.process.wait_until(
            lambda: not self.blind_found(), 'end of the finding'
        )

    def start(self, credential: Credential) -> host_process.Host:
        config = self.configure(credential, 'blind')
        host = host_process.Host(
            self.lab.directory,
            'blind',
            f'{config.read_text()}\n[ownership]\nrefresh_interval = 1\n',
        )
        self.addCleanup(host.kill)
        host.process.start()
        return host

    def blind_found(self) -> bool:
        """Tell whether the check names the role as an error."""
        found = json.loads(self.lab.run('check', '-f', 'json').stdout)
        return any(
            one['code'] == 'credential_blind'
            and one['severity'] == 'error'
            and one['services'] == ['blind']
            and 'role "reader"' in one['what']
            for one in found
        )

    def test_no_credential_loses_a_node(self) -> None:
        with futures.ThreadPoolExecutor(3) as pool:
            outcomes = dict(
                zip(
                    CREDENTIALS,
                    pool.map(self.outcome, CREDENTIALS.values()),
                    strict=True,
                )
            )
        for name, one in CREDENTIALS.items():
            found = outcomes[name]
            seen = name, found
            # Refused by a gate: it exists, or that is not certain.
            self.assertEqual(3, found['there'], seen)
            if one.sees:
                self.assertNotEqual('orphan', found['state'], seen)
                self.assertEqual(0, found['gone'], seen)
            else:
                self.assertEqual(3, found['gone'], seen)
                # The list warns that something is not seen, or is refused.
                listed = found['output'][0]
                self.assertIn(
                    'credentials' if listed.returncode else 'reader role',
                    listed.stderr,
                    seen,
                )
        self.assertEqual(
            {self.node, GONE},
            {record.uuid for record in self.lab.records.compute_nodes()},
        )


class PlacementCredentialsTest(ironics.IronicTestCase):
    """``old`` owns one node that is gone, with a provider in Placement."""

    def setUp(self) -> None:
        super().setUp()
        self.keystone = keystones.shared()
        self.keystone.start()
        self.placement = self.enterContext(
            placement.Placement(
                databases.temporary_directory('placement'),
                keystone=self.keystone.options(),
                token=self.keystone.token(),
            )
        )
        self.placement.provide(GONE)
        self.lab = command_line.Deployment(self.server.endpoint)
        self.addCleanup(self.lab.close)
        old = self.lab.serve('old', command_line.ALL, alive=False)
        self.lab.claim('old', old, model.Node(GONE, name='gone'))

    def test_tls_to_keystone_ironic_and_placement(self) -> None:
        known, other = (
            certificates.Certificates(
                databases.temporary_directory('certificates')
            )
            for _ in range(2)
        )
        for servers, *authorities, named in (
            ((known, known), other, known, 'ironic'),
            ((known, other), known, known, 'ironic'),
            ((known, known), known, other, 'placement'),
        ):
            # A gate that is unknown refuses the deletion.
            done = self.delete_over_tls(servers, *authorities)
            self.assertEqual(3, done.returncode, done)
            self.assertIn('certificate verify failed', done.stdout)
            self.assertEqual(1, len(self.lab.records.compute_nodes()))
            if named == 'ironic':
                done = self.lab.run(
                    *('compute', 'node', 'list'),
                    config=self.lab.directory / 'tls.conf',
                )
                self.assertEqual(1, done.returncode, done)
                self.assertEqual(1, len(done.stderr.splitlines()), done)
            self.assertIn(f'[{named}] cafile', f'{done.stdout} {done.stderr}')
        done = self.delete_over_tls((known, known), known, known)
        self.assertEqual(0, done.returncode, done)
        self.assertEqual(set(), self.placement.providers())
        self.assertEqual([], self.lab.records.compute_nodes())

    def delete_over_tls(
        self,
        servers: tuple[certificates.Certificates, certificates.Certificates],
        for_ironic: certificates.Certificates,
        for_placement: certificates.Certificates,
    ) -> command_line.Done:
        """Delete the record with all connections encrypted.

        :param servers: of Keystone and Placement, and of Ironic.
        :param for_ironic: the authority that ``[ironic]`` names.
        :param for_placement: the one that ``[placement]`` names.
        """
        proxies = [
            ironics.RecordingProxy(url, certificate)
            for url, certificate in (
                (self.keystone.url, servers[0]),
                (self.server.endpoint, servers[1]),
                (self.placement.endpoint, servers[0]),
            )
        ]
        for proxy in proxies:
            self.addCleanup(proxy.stop)
        keystone, *services = (proxy.url for proxy in proxies)
        # Keystone's list of its versions has URLs of its own.
        groups = [
            'auth_type = v3password\n'
            f'auth_url = {keystone}/v3\n'
            'username = sven\npassword = sven\n'
            f'user_domain_id = default\n{_PROJECT.format("admin")}\n'
            f'endpoint_override = {url}\ncafile = {authority.authority}\n'
            for url, authority in zip(
                services, (for_ironic, for_placement), strict=True
            )
        ]
        config = self.lab.configure(
            'tls', ironic=groups[0], more=f'[placement]\n{groups[1]}'
        )
        words = ('compute', 'node', 'delete', GONE, '--yes', '-f', 'json')
        done = self.lab.run(*words, config=config)
        if not done.returncode:
            self.assertTrue(all(proxy.requests for proxy in proxies))
        return done

    def delete_as(self, user: str, scope: str) -> command_line.Done:
        config = self.lab.configure(
            user,
            more='[placement]\nauth_type = password\n'
            f'auth_url = {self.keystone.url}\n'
            f'username = {user}\npassword = {user}\n'
            f'user_domain_id = default\n{scope}\n'
            f'endpoint_override = {self.placement.endpoint}',
        )
        words = ('compute', 'node', 'delete', GONE, '--yes')
        return self.lab.run(*words, config=config)

    def test_only_what_placement_shows_is_deleted(self) -> None:
        project = _PROJECT.format('admin')
        for user, scope in (('rita', _SYSTEM), ('paul', project)):
            done = self.delete_as(user, scope)
            self.assertEqual(3, done.returncode, (user, done))
            self.assertEqual({GONE}, self.placement.providers())
            self.assertEqual(1, len(self.lab.records.compute_nodes()))
        done = self.delete_as('sven', project)
        self.assertEqual(0, done.returncode, done)
        self.assertEqual(set(), self.placement.providers())
        self.assertEqual([], self.lab.records.compute_nodes())
