"""The laws of every membership backend, on a real PostgreSQL."""

from __future__ import annotations

import itertools
import time
import unittest
from typing import ClassVar

from ironic_ownership_postgresql_membership import (
    backend,
)

from ironic_ownership import (
    contracts,
)
from ironic_ownership_plugin_kit import (
    backend as suites,
)
from tests import (
    server,
)

_CLOCK = '(clock_timestamp() + (SELECT ahead FROM test_clock))'


class _Ahead(backend.PostgreSQLBackend):
    """Reads a clock that tests put forward."""

    now = _CLOCK


class PostgreSQLCase(unittest.TestCase):
    """Tests of one class share a server; each has a cluster of its own."""

    postgresql: ClassVar[server.PostgreSQL]
    target: ClassVar[type[backend.PostgreSQLBackend]] = _Ahead
    call_timeout: ClassVar[float] = 30.0
    _numbers = itertools.count(1)

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.postgresql = server.PostgreSQL()
        cls.addClassCleanup(cls.postgresql.remove)
        cls.postgresql.start()
        cls.postgresql.execute(
            "CREATE TABLE test_clock AS SELECT interval '0' AS ahead"
        )

    def setUp(self) -> None:
        super().setUp()
        self.cluster = f'cluster{next(self._numbers)}'

    def make_backend(self, member_ttl: float) -> backend.PostgreSQLBackend:
        """Return another instance on this test's cluster."""
        return self.target(
            {'connection': self.postgresql.dsn, 'cluster': self.cluster},
            member_ttl=member_ttl,
            call_timeout=self.call_timeout,
        )

    def elapse(self, seconds: float) -> None:
        """Put the clock forward."""
        self.postgresql.execute(
            "UPDATE test_clock SET ahead = ahead + %s * interval '1 second'",
            seconds,
        )

    def interrupt(self) -> None:
        """Freeze the server."""
        self.postgresql.freeze()

    def resume(self) -> None:
        """Let the server go on."""
        self.postgresql.thaw()

    def forget_everything(self) -> None:
        """Drop the table, as a restore without it does."""
        self.postgresql.execute('DROP TABLE ironic_ownership_members')


class TestMembers(PostgreSQLCase, suites.BackendContract):
    pass


class TestOutages(PostgreSQLCase, suites.OutageContract):
    # Most of these calls are waited for until they give up.
    call_timeout = 4.0


class TestWatch(PostgreSQLCase, suites.WatchContract):
    """Time really passes: a watch ends by itself when a member expires."""

    target = backend.PostgreSQLBackend
    ttl = 5.0

    def elapse(self, seconds: float) -> None:
        time.sleep(seconds)


class TestStore(PostgreSQLCase):
    """Behaviour of this backend alone."""

    target = backend.PostgreSQLBackend
    settings = contracts.MemberSettings()

    def test_clusters_share_a_database(self) -> None:
        self.make_backend(30).join('host1', 'one', self.settings)
        self.cluster = 'another'
        self.assertEqual((), self.make_backend(30).view().members)

    def test_connection_that_the_server_ended_is_replaced(self) -> None:
        member = self.make_backend(30)
        self.addCleanup(member.close)
        member.join('host1', 'one', self.settings)
        member.view()
        self.postgresql.execute(
            'SELECT pg_terminate_backend(pid) FROM pg_stat_activity '
            'WHERE pid <> pg_backend_pid() AND datname IS NOT NULL'
        )
        member.beat()
        self.assertEqual({'host1'}, member.view().hosts)

    def test_many_begin_at_once(self) -> None:
        import concurrent.futures

        def begin(number: int) -> None:
            one = self.make_backend(30)
            one.join(f'host{number}', 'one', self.settings)
            one.close()

        self.postgresql.execute(
            'DROP TABLE IF EXISTS ironic_ownership_members'
        )
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            [*pool.map(begin, range(8))]
        reader = self.make_backend(30)
        self.addCleanup(reader.close)
        self.assertEqual(8, len(reader.view().members))

    def test_password_is_in_no_error(self) -> None:
        one = backend.PostgreSQLBackend(
            {
                'connection': 'host=127.0.0.1 port=1 password=hush',
                'cluster': 'x',
            },
            member_ttl=30,
            call_timeout=5,
        )
        with self.assertRaises(contracts.BackendUnavailableError) as caught:
            one.view()
        self.assertNotIn('hush', str(caught.exception))
