"""The configuration of the HTTP service, and where it may listen."""

from __future__ import annotations

import os

from ironic_ownership.cmd import api as program
from ironic_ownership.conf import api
from ironic_ownership.contracts import exceptions
from ironic_ownership.web.deploy import DIRECTORIES, FILES, arguments
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
            self.check(f'host_ip = {host}\nauth_strategy = keystone')
            if allowed:
                self.check(f'host_ip = {host}')
                continue
            with self.assertRaises(exceptions.ConfigurationError) as caught:
                self.check(f'host_ip = {host}')
            self.assertIn(host, str(caught.exception))

    def test_default_is_loopback(self) -> None:
        self.check('')


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
