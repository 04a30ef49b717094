from __future__ import annotations

import logging
import subprocess
import sys
import unittest
from typing import Any
from unittest import mock

from kazoo import security
from tooz import coordination

from ironic_ownership.backends.tooz import backend, drivers
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.backend import Capability

WORKING = {
    'etcd3+http://h:2379': 'etcd',
    'etcd3+https://h:2379': 'etcd',
    'zookeeper://h:2181': 'zookeeper',
    'kazoo://h:2181': 'zookeeper',
    'redis://h:6379': 'redis',
}
CONSENSUS = {'etcd', 'zookeeper'}


def coordinator(url: str) -> Any:
    """Return one that has not connected."""
    driver = drivers.find(url, 20, 5)
    made = coordination.get_coordinator(driver.url, b'id', **driver.options())
    driver.prepare(made)
    return made


class TestFind(unittest.TestCase):
    def refused(self, url: str, *words: str) -> None:
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            drivers.find(url, 20, 5)
        for word in ('[backend_tooz] backend_url', *words):
            self.assertIn(word, str(caught.exception))
        self.assertNotIn('hunter2', str(caught.exception))

    def test_url_names_the_store(self) -> None:
        for url, name in WORKING.items():
            found = drivers.find(url, 20, 5)
            self.assertEqual((name, []), (found.name, [*found.faults()]))
            # It never keeps a member for less than asked.
            for ttl in (2.0, 2.1, 3.5, 20.0):
                options = drivers.find(url, ttl, 5).options()
                kept = options.get('membership_timeout', options['timeout'])
                self.assertGreaterEqual(kept, ttl)
                self.assertLess(kept, ttl + 1)

    def test_driver_without_groups_is_refused_naming_those_that_work(
        self,
    ) -> None:
        working = 'etcd3+http:// (extra etcd)', 'zookeeper://', 'redis://'
        for scheme in ('mysql', 'ipc', 'kubernetes', 'consul', 'nonsuch'):
            self.refused(f'{scheme}://u:hunter2@h/x', repr(scheme), *working)
        for url in ('memcached://u:hunter2@h', 'file:///tmp/x'):
            self.refused(url, 'any more', 'backend = db', 'etcd3+http://')

    def test_missing_library_is_refused_naming_the_extra(self) -> None:
        for url, extra in (
            ('etcd3+http://h', 'etcd'),
            ('zookeeper://h', 'zookeeper'),
            ('redis://h', 'redis'),
        ):
            with mock.patch('importlib.util.find_spec', return_value=None):
                self.refused(url, f"pip install '.[{extra}]'")

    def test_options_that_the_driver_sets_are_refused(self) -> None:
        for url, name in (
            ('etcd3+http://h?timeout=3', 'timeout'),
            ('redis://h?membership_timeout=3', 'membership_timeout'),
            ('redis://h?socket_timeout=3', 'socket_timeout'),
            ('zookeeper://h?connection_retry=1', 'connection_retry'),
            ('redis://h?executor=thread', 'executor'),
        ):
            self.refused(url, f'{name} in the URL', 'member_ttl')
        self.refused('redis://a:1,b:2', 'one server')
        for url in (
            f'etcd3+https://h?ca_cert={__file__}',
            f'etcd3+https://h?cert_cert={__file__}&cert_key={__file__}',
            f'etcd3+https://h/?api_version=v3&ca_cert={__file__}',
            f'zookeeper://h?use_ssl=true&ca={__file__}',
            'zookeeper://h:1/?namespace=a&hosts=i:1&hosts=j:1',
            f'redis://h?ssl=true&ssl_ca_certs={__file__}&db=3&namespace=a',
            'redis://h:1/0?sentinel=m&sentinel_fallback=[::1]:1',
            f'redis://h:1?sentinel=m&sentinel_ssl=1&ssl_ca_certs={__file__}',
            'redis://:p@/run/redis.sock?encoding=utf8',
            'etcd3+http://a:1,b:2',
            'zookeeper://a:1,b:2',
        ):
            with self.subTest(url):
                drivers.find(url, 20, 5)

    def test_parts_that_have_no_effect_are_refused(self) -> None:
        for url, *words in (
            ('redis://h?tls=true', 'redis has no option tls: remove it'),
            ('redis://h?ssl_ca_cert=/ca', 'did you mean ssl_ca_certs?'),
            ('zookeeper://h?usessl=true', 'did you mean use_ssl?'),
            ('zookeeper://h?namespce=x', 'did you mean namespace?'),
            ('etcd3+https://h:1?ca_certs=/ca', 'did you mean ca_cert?'),
            ('redis://h:1/3', 'a path'),
            ('zookeeper://h:1,i:1/chroot', 'a path'),
            ('etcd3+http://h#x', 'fragment'),
            ('etcd3+https://h?cert_cert=/c', 'cert_cert and cert_key'),
            ('etcd3+https://h?cert_key=/k', 'cert_cert and cert_key'),
            ('redis://h?sentinel=m', 'needs its port'),
            ('redis://:1?sentinel=m', 'needs its port'),
            ('redis://h:1?sentinel=m&sentinel_fallback=i', 'needs its port'),
            # Plain text, or any certificate, would be used without a word.
            ('zookeeper://h?ca=/ca', 'ca needs TLS: add use_ssl=true'),
            ('zookeeper://h?use_ssl=false&ca=/ca', 'ca needs TLS'),
            ('redis://h?ssl_ca_certs=/ca', 'needs TLS: add ssl=true'),
            ('etcd3+http://h?ca_cert=/ca', 'needs TLS: write etcd3+https'),
            ('redis://h?ssl=ture', 'ssl is true or false'),
            # They would be waited for, as if the store did not answer.
            ('redis://h?db=x', 'db is a whole number'),
            ('redis://h?db=-1', 'db is a whole number'),
            ('redis://h?health_check_interval=no', 'is a number'),
            ('redis://h?encoding=utf9', 'is the name of an encoding'),
            ('redis://h?socket_keepalive=ture', 'is true or false'),
            ('zookeeper://h?randomize_hosts=ture', 'is true or false'),
            ('zookeeper://h?hosts=i:1,j:x&hosts=k:1', 'hosts is a list of'),
            ('redis://h:1?sentinel=m&sentinel_fallback=i:99999', 'is a list'),
            ('etcd3+http://h?api_version=3', 'is v3, v3beta or v3alpha'),
            (
                'zookeeper://h?use_ssl=1&verify_certs=N0',
                'verify_certs is true',
            ),
            ('zookeeper://h?use_ssl=1&ca=/no', 'ca: the file /no cannot be'),
            # One port of several.
            ('etcd3+http://a:x,b:1', 'is not a URL'),
            ('zookeeper://a:1,b:99999', 'is not a URL'),
            # A part of the password is not quoted.
            *(
                (f'redis://u:1{mark}hunter2@h', 'need %2F for /, %3F for ?')
                for mark in ('/', '?', '#')
            ),
        ):
            with self.subTest(url):
                self.refused(url, *words)

    def test_user_and_password_are_decoded(self) -> None:
        for url in (
            'redis://us%2Fer:p%40ss%3F@h:1',
            'redis://us%2Fer:p%40ss%3F@h:1?sentinel=m',
            'redis://:p%40ss%3F@h:1',
        ):
            with self.subTest(url):
                made = coordinator(url)
                pool = made._make_client(
                    made._parsed_url, made._options, 5
                ).connection_pool
                self.assertEqual(
                    ('us/er' if 'us' in url else None, 'p@ss?'),
                    (
                        pool.connection_kwargs['username'],
                        pool.connection_kwargs['password'],
                    ),
                )

    def test_library_logs_no_attempt_unless_an_operator_wants_it(self) -> None:
        log = logging.getLogger('kazoo')
        self.addCleanup(log.setLevel, log.level)
        for given, level in (
            (logging.NOTSET, logging.ERROR),
            (logging.INFO, logging.INFO),
            # It has the digest of the user.
            (logging.DEBUG, logging.INFO),
        ):
            log.setLevel(given)
            for _ in range(2):
                coordinator('zookeeper://h:2181')
                self.assertEqual(level, log.level)

    def test_decoded_digest_is_next_to_the_one_as_written(self) -> None:
        # Nodes that an earlier release created need that.
        for written, users in (
            ('u:p%40ss', ['u:p%40ss', 'u:p@ss']),
            ('u:p@ss', ['u:p@ss']),
            ('u', []),
        ):
            with self.subTest(written):
                client = coordinator(f'zookeeper://{written}@h:1')._coord
                self.assertEqual(
                    [('digest', user) for user in users],
                    sorted(client.auth_data),
                )
                digests = [
                    security.make_digest_acl(*user.split(':'), all=True)
                    for user in users
                ]
                self.assertCountEqual(digests, client.default_acl or ())


class TestBackend(unittest.TestCase):
    def build(self, url: str) -> backend.ToozBackend:
        return backend.ToozBackend(
            {'backend_url': url, 'group': 'g'}, member_ttl=20, call_timeout=5
        )

    def test_capabilities_are_those_of_the_driver(self) -> None:
        for url, name in WORKING.items():
            found = self.build(url).capabilities
            for capability, stores_ in (
                (Capability.WATCH, CONSENSUS),
                (Capability.PERSISTENT, CONSENSUS),
                (Capability.SHARED, CONSENSUS | {'redis'}),
            ):
                self.assertEqual(name in stores_, capability in found)
        option, group = backend.ToozBackend.options
        self.assertTrue(option.secret and option.required)
        self.assertEqual('ironic-ownership', group.default)

    def test_missing_tooz_is_refused_naming_the_extras(self) -> None:
        with (
            mock.patch('importlib.util.find_spec', return_value=None),
            self.assertRaisesRegex(
                exceptions.ConfigurationError, r'\.\[etcd\]'
            ),
        ):
            self.build('etcd3+http://h')

    def test_class_can_be_listed_without_tooz(self) -> None:
        code = (
            'import sys; sys.modules["tooz"] = None; '
            'from ironic_ownership.backends.tooz import backend; '
            'print(backend.ToozBackend.options[0].name)'
        )
        ran = subprocess.run(
            [sys.executable, '-c', code], capture_output=True, text=True
        )
        self.assertEqual(('backend_url\n', ''), (ran.stdout, ran.stderr))
