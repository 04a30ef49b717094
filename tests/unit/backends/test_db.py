from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.backends import db
from ironic_ownership.contracts import capabilities, exceptions, model
from tests.contract import newer_schema
from tests.unit.db import sqlite


class TestDatabaseBackend(sqlite.SqliteCase):
    def build(self, call_timeout: float = 60) -> db.DatabaseBackend:
        made = db.DatabaseBackend(
            {'connection': self.url}, member_ttl=30, call_timeout=call_timeout
        )
        self.addCleanup(made.close)
        return made

    def test_building_it_does_no_io(self) -> None:
        db.DatabaseBackend(
            {'connection': 'nonsense'}, member_ttl=30, call_timeout=5
        ).close()
        self.build()
        self.assertEqual([], list(self.directory.iterdir()))

    def test_first_call_makes_the_schema_of_a_file(self) -> None:
        self.assertEqual((), self.build().view().members)

    def test_locked_database_is_unavailable(self) -> None:
        self.open_with_schema()
        member = self.build(call_timeout=6)
        member.join('host1', 'one', model.MemberSettings())

        def work(conn: sa.Connection) -> None:
            with self.assertRaises(
                exceptions.BackendUnavailableError
            ) as caught:
                member.beat()
            hint = caught.exception.hint
            self.assertNotEqual('', hint)
            self.assertEqual(1, str(caught.exception).count(hint))
            # A view only reads: it does not wait for the writer.
            self.assertEqual({'host1'}, member.view().hosts)

        self.open().write(work)
        member.beat()

    def test_wrong_url_is_no_outage(self) -> None:
        member = db.DatabaseBackend(
            {'connection': 'sqlite:////nonexistent/dir/a'},
            member_ttl=30,
            call_timeout=5,
        )
        with self.assertRaises(exceptions.MembershipError) as caught:
            member.view()
        self.assertNotIsInstance(
            caught.exception, exceptions.BackendUnavailableError
        )
        self.assertIn('/nonexistent/dir', str(caught.exception))

    def test_database_of_a_newer_release_is_refused(self) -> None:
        newer_schema.mark(self.open_with_schema(), 'f')
        with self.assertRaises(exceptions.MembershipError) as caught:
            self.build().view()
        self.assertIn('newer release', str(caught.exception))

    def test_backend_works_again_after_it_was_closed(self) -> None:
        member = self.build()
        member.join('host1', 'one', model.MemberSettings())
        member.close()
        member.beat()

    def test_it_declares_the_clock_of_the_store(self) -> None:
        self.assertIn(
            capabilities.Capability.STORE_CLOCK,
            db.DatabaseBackend.capabilities,
        )

    def test_file_is_not_shared_by_machines_and_a_server_is(self) -> None:
        shared = capabilities.Capability.SHARED
        self.assertNotIn(shared, self.build().capabilities)
        server = db.DatabaseBackend(
            {'connection': 'mysql+pymysql://u:p@127.0.0.1/x'},
            member_ttl=30,
            call_timeout=5,
        )
        self.assertIn(shared, server.capabilities)

    def test_url_is_secret_and_follows_the_records(self) -> None:
        (option,) = db.DatabaseBackend.options
        self.assertTrue(option.secret)
        self.assertEqual('$database.connection', option.default)
