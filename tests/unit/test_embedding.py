"""Start and end of an embedded host; the rest is tested on real servers."""

from __future__ import annotations

import pathlib
import tempfile
import threading
import unittest
from unittest import mock

from ironic_ownership import embedding
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host import process

PATIENCE = 10.0


class TestStop(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.answered = threading.Event()
        self.addCleanup(self.answered.set)
        self.enterContext(
            mock.patch.object(process.Host, 'prepare', self.fail_late)
        )
        self.host = embedding.EmbeddedHost(
            overrides={
                ('DEFAULT', 'host'): 'host1',
                (
                    'database',
                    'connection',
                ): f'sqlite:///{pathlib.Path(directory, "x")}',
                ('ironic', 'auth_type'): 'none',
                ('ironic', 'endpoint_override'): 'http://127.0.0.1:1',
            },
            on_lost_place=self.lost_place,
        )
        self.stopped = threading.Event()
        self.host.start()

    def fail_late(self) -> None:
        self.answered.wait(PATIENCE)
        raise exceptions.IronicTooOldError('too old')

    def lost_place(self, lost: embedding.LostPlace) -> None:
        self.host.stop()
        self.stopped.set()

    def test_it_does_not_wait_for_a_server_that_does_not_answer(self) -> None:
        with mock.patch.object(embedding, 'LEAVE_TIMEOUT', 0.01):
            self.host.stop()
        self.assertFalse(self.answered.is_set())

    def test_program_may_stop_when_it_hears_of_the_failure(self) -> None:
        vars(self.host._place)['_was_active'] = True
        self.answered.set()
        self.assertTrue(self.stopped.wait(PATIENCE))
        self.assertIs(embedding.PlaceState.FAILED, self.host.state)


class TestStart(unittest.TestCase):
    def test_error_of_an_override_does_not_show_a_secret(self) -> None:
        host = embedding.EmbeddedHost(
            overrides={('enforcement', 'shared_key'): 'hunter2'}
        )
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            host.start()
        self.assertIn('[enforcement] shared_key: ', str(caught.exception))
        self.assertNotIn('hunter2', str(caught.exception))
