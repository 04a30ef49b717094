"""The configuration of the HTTP service, and where it may listen."""

from __future__ import annotations

import os
import pathlib
from unittest import mock

from ironic_ownership.cmd import api as program
from ironic_ownership.conf import api
from ironic_ownership.contracts import exceptions
from ironic_ownership.web.deploy import DIRECTORIES, FILES, arguments, enforcer
from tests.unit import configurations


class AddressTest(configurations.ConfiguredCase):
    def check(self, text: str) -> None:
        conf = self.configure(f'[api]\n{text}')
        api.register_opts(conf)
        program.check_address(conf)

    def test_loopback_alone_unless_clients_are_asked(self) -> None:
        for host, allowed in (
            ('127.0.0.1', True),
            ('127.9.9.9', True),
            ('::1', True),
            ('localhost', True),
            ('0.0.0.0', False),
            ('::', False),
            ('192.0.2.1', False),
            ('example.org', False),
        ):
            self.check(f'host_ip = {host}')
            self.check(f'host_ip = {host}\nauth_strategy = http_basic')
            noauth = f'host_ip = {host}\nauth_strategy = noauth'
            if allowed:
                self.check(noauth)
                continue
            with self.assertRaises(exceptions.ConfigurationError) as caught:
                self.check(noauth)
            self.assertIn(host, str(caught.exception))

    def test_default_is_loopback_with_tokens(self) -> None:
        self.check('auth_strategy = noauth')
        conf = self.configure('')
        api.register_opts(conf)
        self.assertEqual(api.KEYSTONE, conf.api.auth_strategy)


class ArgumentsTest(configurations.ConfiguredCase):
    def test_environment_names_files_and_directories(self) -> None:
        self.assertEqual([], arguments({}))
        self.assertEqual(
            [
                '--config-file=/etc/a.conf',
                '--config-file=/etc/b.conf',
                '--config-dir=/etc/d',
            ],
            arguments(
                {
                    FILES: os.pathsep.join(['/etc/a.conf', '/etc/b.conf']),
                    DIRECTORIES: '/etc/d',
                }
            ),
        )


class EnforcerTest(configurations.ConfiguredCase):
    def test_tools_of_oslo_policy_get_the_rules_of_the_deployment(
        self,
    ) -> None:
        conf = self.configure('[oslo_policy]\npolicy_file = rules.yaml')
        file = pathlib.Path(conf.config_file[0])
        rules = file.with_name('rules.yaml')
        self.addCleanup(rules.unlink)
        rules.write_text('"ironic_ownership:service:list": "role:x"\n')
        with mock.patch.dict(os.environ, {FILES: str(file)}):
            found = enforcer()
        found.load_rules()
        self.assertEqual(
            ['ironic_ownership:service:list'], list(found.file_rules)
        )
        self.assertIn('ironic_ownership:move:create', found.registered_rules)
