"""Bounds of the statements of ``ironic-ownership-dbsync``."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

from ironic_ownership.cmd import dbsync


class TestBounds(unittest.TestCase):
    def bounds(self, command: str) -> tuple[float, float]:
        """Return those of a statement, and of the wait for a lock."""
        with (
            tempfile.NamedTemporaryFile('w', suffix='.conf') as file,
            mock.patch.object(dbsync.connection, 'open_database') as opened,
            mock.patch.object(dbsync.schema, 'upgrade', return_value='0011'),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            opened.return_value.revision.return_value = '0011'
            file.write(f'[database]\nconnection = sqlite:///{os.devnull}\n')
            file.flush()
            self.assertEqual(
                0, dbsync.main(['--config-file', file.name, command])
            )
        given = opened.call_args.kwargs
        return given['statement_timeout'], given['lock_timeout']

    def test_upgrade_may_take_hours_but_waits_briefly_for_locks(self) -> None:
        self.assertEqual((86400, 30), self.bounds('upgrade'))
        self.assertEqual((30, 30), self.bounds('version'))
