"""``openstack baremetal ownership``, by a real client without a Keystone."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
from typing import Any

from lab import preloaded, process, venvs
from tests.functional.support import (
    api_process,
    command_line,
    installations,
    ironics,
    osc_imports,
)

_PROJECT = tomllib.loads(
    (installations.CHECKOUT / 'pyproject.toml').read_text()
)['project']
_REQUIREMENTS = (
    *_PROJECT['dependencies'],
    *_PROJECT['optional-dependencies']['osc'],
    'python-ironicclient',
)
_ENVIRONMENT = {'PATH': '/usr/bin:/bin'}
_WORDS = ('baremetal', 'ownership')


class OpenStackClientTest(ironics.IronicTestCase):
    """Our wheel beside python-openstackclient and python-ironicclient."""

    program: pathlib.Path
    site: pathlib.Path
    forks: preloaded.Forks

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        venv = venvs.ensure('openstackclient-ownership', _REQUIREMENTS)
        cls.program = venv / 'bin' / 'openstack'
        directory = tempfile.TemporaryDirectory(prefix='osc-')
        cls.addClassCleanup(directory.cleanup)
        root = pathlib.Path(directory.name)
        # The environment is kept, and has what we need; we are in none.
        cls.site = root / 'site'
        installations.run(
            *(sys.executable, '-m', 'uv', 'pip', 'install', '--quiet'),
            *('--no-deps', '--target', cls.site),
            installations.own_wheel(),
            cwd=root,
        )
        cls.forks = preloaded.Forks(
            venv / 'bin' / 'python',
            pathlib.Path(osc_imports.__file__),
            root / 'forks.log',
            {**_ENVIRONMENT, 'PYTHONPATH': str(cls.site)},
        )
        cls.addClassCleanup(cls.forks.stop)

    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment(self.endpoint)
        self.addCleanup(self.lab.close)
        (self.node,) = self.enrolment.enrol(1, shard='rack1')
        epoch = self.lab.serve('rack1', command_line.shard('rack1'))
        self.lab.serve('rack2', command_line.shard('rack2'))
        bare_metal = ironics.open_ironic(self.server.endpoint)
        self.lab.claim(
            'rack1', epoch, *filter(None, [bare_metal.get(self.node)])
        )

    def openstack(
        self, *words: str, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the client, which knows of no cloud, as a fork.

        :param env: variables to add.
        """
        return self.forks.run(
            'openstackclient.shell:main',
            [str(self.program), *words],
            {
                **_ENVIRONMENT,
                'HOME': str(self.lab.directory),
                'PYTHONPATH': str(self.site),
                **env,
            },
            pathlib.Path('/'),
            timeout=300,
        )

    def ours(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one of our commands under the client."""
        return self.openstack(
            '--ownership-config-file', str(self.lab.config), *_WORDS, *words
        )

    def json(self, *words: str) -> Any:
        done = self.ours(*words, '-f', 'json')
        self.assertEqual(0, done.returncode, done)
        return json.loads(done.stdout)

    def test_answers_are_those_of_our_own_program(self) -> None:
        for words in (
            ('service', 'list'),
            ('service', 'show', 'rack1'),
            ('compute', 'node', 'list', '--long'),
            ('compute', 'node', 'explain', self.node),
            ('member', 'list'),
            ('policy', 'list', '-c', 'name', '-c', 'status'),
        ):
            self.assertEqual(self.lab.json(*words), self.json(*words), words)

    def test_configuration_is_found_by_the_environment(self) -> None:
        for name, value in (
            ('IRONIC_OWNERSHIP_CONFIG_FILE', self.lab.config),
            ('IRONIC_OWNERSHIP_CONFIG_DIR', self.lab.directory),
        ):
            done = self.openstack(
                *_WORDS, 'service', 'list', **{name: str(value)}
            )
            self.assertEqual(0, done.returncode, done)
            self.assertIn('rack1', done.stdout)

    def test_keystone_is_not_asked_even_if_there_is_one(self) -> None:
        dead = 'http://127.0.0.1:1'
        for options in (
            ('--os-auth-type', 'none', '--os-endpoint', dead),
            (
                *('--os-auth-type', 'admin_token', '--os-endpoint', dead),
                *('--os-token', 'x'),
            ),
            (
                *('--os-auth-url', dead, '--os-username', 'u'),
                *('--os-password', 'p', '--os-project-name', 'p'),
            ),
        ):
            done = self.openstack(
                *options,
                *('--ownership-config-file', str(self.lab.config)),
                *(*_WORDS, 'compute', 'node', 'list'),
            )
            self.assertEqual(0, done.returncode, done)
            self.assertIn(self.node, done.stdout)

    def test_http_service_answers_without_a_configuration(self) -> None:
        port = process.free_port()
        config = self.lab.configure(
            'api', more=f'[api]\nauth_strategy = noauth\nport = {port}\n'
        )
        log = self.lab.directory / 'api.log'
        api = api_process.Api(api_process.program(config, log), port)
        self.addCleanup(api.process.kill)
        api.start()
        cloud = ('--os-auth-type', 'none', '--os-endpoint', api.url)
        for words in (
            ('service', 'list'),
            ('compute', 'node', 'list', '--long', '-f', 'json'),
            ('service', 'show', 'rakc1'),
        ):
            own = self.lab.run(*words)
            done = self.openstack(*cloud, *_WORDS, *words)
            self.assertEqual(
                (own.returncode, own.stdout),
                (done.returncode, done.stdout),
                done,
            )
            self.assertIn(
                own.stderr.replace('ironic-ownership: error: ', ''),
                done.stderr,
            )
        # A configuration is preferred, unless the operator says otherwise.
        configured = ('--ownership-config-file', str(self.lab.config))
        words = ('service', 'list')
        api.process.kill()
        for chosen, code in (
            ((), 0),
            (('--ownership-api', 'database'), 0),
            (('--ownership-api', 'http'), 1),
        ):
            done = self.openstack(
                *(*cloud, *configured, *chosen, *_WORDS, *words)
            )
            self.assertEqual(code, done.returncode, done)
        done = self.openstack(
            *(*cloud, *configured, *_WORDS, *words),
            IRONIC_OWNERSHIP_API='http',
        )
        self.assertEqual(1, done.returncode, done)
        self.assertIn('no answer', done.stderr)
        done = self.openstack(*cloud, *_WORDS, 'policy', 'list')
        self.assertEqual(0, done.returncode, done)

    def test_without_configuration_and_cloud_nothing_is_guessed(self) -> None:
        done = self.openstack(*_WORDS, 'service', 'list')
        self.assertEqual((1, ''), (done.returncode, done.stdout), done)
        self.assertIn('auth', done.stderr)
        # Other commands for bare metal work beside ours.
        done = self.openstack(
            *('--os-auth-type', 'none'),
            *('--os-endpoint', self.server.endpoint),
            *('baremetal', 'node', 'list', '-f', 'value', '-c', 'UUID'),
        )
        self.assertEqual(0, done.returncode, done)
        self.assertEqual([self.node], done.stdout.split())
