"""Bounds of the middleware's query; its answers are in the contract suites."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import unittest
from unittest import mock

from sqlalchemy import event

from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection, schema
from ironic_ownership_middleware.records import Records


class RecordsTest(unittest.TestCase):
    def test_answer_that_takes_too_long_is_an_error(self) -> None:
        release = threading.Event()
        self.addCleanup(release.set)
        reader = Records('sqlite:////tmp/records.sqlite', 0.2)
        with (
            mock.patch.object(
                reader, '_read', side_effect=lambda *_: release.wait()
            ),
            self.assertRaisesRegex(
                exceptions.RecordsUnavailableError, r'within 0\.2 s'
            ),
        ):
            reader.read('host1', [], [])

    def test_answer_does_not_wait_for_the_end_of_its_transaction(self) -> None:
        directory = self.enterContext(tempfile.TemporaryDirectory())
        url = f'sqlite:///{directory}/records.sqlite'
        with contextlib.closing(connection.open_database(url)) as database:
            schema.upgrade(database)
        reader = Records(url, 60)
        answered, ended = threading.Event(), threading.Event()

        def roll_back(_: object) -> None:
            answered.wait()
            ended.set()

        event.listen(reader._database.engine, 'rollback', roll_back)
        self.addCleanup(answered.set)
        self.assertEqual((None, ()), reader.read('host1', [], []))
        answered.set()
        self.assertTrue(ended.wait(60))

    def test_url_that_cannot_work_is_found_at_start(self) -> None:
        with self.assertRaises(exceptions.RecordsError):
            Records('nonsense', 1)
