"""The ``tooz`` backend on a real Redis."""

from __future__ import annotations

import time
import unittest

from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend, backend_case
from lab import redis
from tests.functional.support import coordination, databases

SETTINGS = backend_case.SETTINGS


class TestRedis(coordination.OnStore, backend.BackendContract):
    kind = 'redis'


class TestRedisOutages(coordination.Interrupted, backend.OutageContract):
    kind = 'redis'


class TestRedisPassword(unittest.TestCase):
    def test_password_opens_and_a_wrong_one_is_not_shown(self) -> None:
        server = redis.Redis(databases.temporary_directory('redis'), 'p4ss')
        self.addCleanup(server.stop)
        server.start()
        member = coordination.build(server.url, 'group')
        self.addCleanup(member.close)
        member.join('host1', 'one', SETTINGS)
        self.assertEqual({'host1'}, member.view().hosts)
        wrong = coordination.build(
            server.url.replace('p4ss', 'hunter2'), 'group'
        )
        self.addCleanup(wrong.close)
        with self.assertRaises(exceptions.BackendUnavailableError) as caught:
            wrong.view()
        message = str(caught.exception)
        self.assertIn('redis://:***@127.0.0.1', message)
        self.assertNotIn('hunter2', message)


class TestRedisOverdue(coordination.OnStore, backend_case.BackendCase):
    kind = 'redis'

    def test_overdue_member_does_not_come_back_without_a_read(
        self,
    ) -> None:
        # Long enough for a join on a busy machine.
        member = self.joined('host1', 'one', ttl=5)
        time.sleep(5.5)
        # Nothing was read since, so its entry still exists.
        with self.assertRaises(exceptions.NotMemberError):
            member.beat()
