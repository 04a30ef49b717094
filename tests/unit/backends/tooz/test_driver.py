from __future__ import annotations

import unittest

from ironic_ownership.backends.tooz import driver
from ironic_ownership.contracts import exceptions

SECRETS = (
    'redis://:hunter2@h:1',
    'redis://user:hunter2@h:1?db=1',
    'redis://h:1?sentinel_password=hunter2&db=1',
    'zookeeper://user:hunter2@h:1?keyfile_password=hunter2',
)


class TestStoreURL(unittest.TestCase):
    def test_secrets_are_shown_nowhere(self) -> None:
        for url in SECRETS:
            with self.subTest(url):
                found = driver.StoreURL(url)
                for text in (str(found), repr(found), found.masked(url)):
                    self.assertNotIn('hunter2', text)
                self.assertIn('***', str(found))
                self.assertIn('h:1', str(found))

    def test_secret_is_masked_as_written_and_decoded(self) -> None:
        found = driver.StoreURL('redis://:p%40ss%3Aw@h:1')
        self.assertEqual(
            'no *** and no ***', found.masked('no p%40ss%3Aw and no p@ss:w')
        )

    def test_malformed_url_is_refused_without_its_secret(self) -> None:
        for url in ('redis://:hunter2@h:port', 'hunter2', 'redis://[hunter2'):
            with (
                self.subTest(url),
                self.assertRaises(exceptions.ConfigurationError) as caught,
            ):
                driver.StoreURL(url).parts  # noqa: B018 - reads the URL
            self.assertNotIn('hunter2', str(caught.exception))
            self.assertIsNone(caught.exception.__cause__)
            self.assertNotIn('hunter2', str(driver.StoreURL(url)))

    def test_servers_are_separate_from_credentials(self) -> None:
        found = driver.StoreURL('zookeeper://u:p@a:1,b:2/x?use_ssl=true')
        self.assertEqual(('a:1', 'b:2'), found.servers)
        self.assertEqual(('u', 'p'), found.credentials)
        self.assertEqual({'use_ssl': 'true'}, found.query)
        self.assertEqual('zookeeper://u:p@b:2/x?use_ssl=true', found.at('b:2'))
