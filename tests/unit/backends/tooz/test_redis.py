from __future__ import annotations

import threading
import unittest
from typing import Any
from unittest import mock

import redis

from ironic_ownership.backends.tooz import drivers
from ironic_ownership.backends.tooz import redis as redis_driver


def sentinel(
    port: int = 0, epoch: int = 0, error: Exception | None = None
) -> Any:
    state = {'ip': 'h', 'port': port, 'config-epoch': epoch}
    return mock.Mock(
        sentinel_masters=mock.Mock(
            return_value={'members': state} if port else {}, side_effect=error
        )
    )


class TestNewestPrimary(unittest.TestCase):
    def primary(self, *sentinels: Any, patience: float = 60) -> int:
        manager = mock.Mock(sentinels=sentinels)
        manager.check_master_state.return_value = True
        return redis_driver._newest_primary(
            manager, 'members', patience=patience
        )[1]

    def test_newest_configuration_counts(self) -> None:
        old, new = sentinel(1, 3), sentinel(2, 4)
        self.assertEqual(2, self.primary(old, new, old))
        self.assertEqual(2, self.primary(new, old))

    def test_sentinel_that_fails_or_is_silent_is_not_needed(self) -> None:
        failed = sentinel(error=redis.ConnectionError('refused'))
        silent, end = mock.Mock(), threading.Event()
        self.addCleanup(end.set)
        silent.sentinel_masters.side_effect = lambda: end.wait() and {}
        found = self.primary(failed, silent, sentinel(1, 1), patience=2)
        self.assertEqual(1, found)

    def test_error_holds_the_reasons(self) -> None:
        with self.assertRaises(redis.RedisError) as caught:
            self.primary(
                sentinel(error=redis.AuthenticationError('WRONGPASS')),
                sentinel(),
            )
        self.assertIn('AuthenticationError: WRONGPASS', str(caught.exception))
        # tooz tries those fifteen times.
        self.assertNotIsInstance(caught.exception, redis.ConnectionError)


class TestWriteLimit(unittest.TestCase):
    """Without it, both sides of a partition declare each other dead."""

    def connect(self, url: str, times: int = 1, **info: object) -> None:
        driver = drivers.find(url, 20, 5)
        for _ in range(times):
            driver.check(mock.Mock(_server_info=info))

    def test_primary_of_sentinels_without_a_limit_is_named_once(self) -> None:
        with self.assertLogs(redis_driver.LOG.name, 'WARNING') as logged:
            self.connect('redis://:pw@h:1?sentinel=members', 3, role='master')
        (line,) = logged.output
        self.assertIn('min-replicas-to-write 1', line)
        self.assertIn('min-replicas-max-lag', line)
        self.assertNotIn('pw', line)

    def test_limit_or_a_single_server_is_not_named(self) -> None:
        with self.assertNoLogs(redis_driver.LOG.name):
            self.connect(
                'redis://h:1?sentinel=members', min_slaves_good_slaves=2
            )
            self.connect('redis://h')
