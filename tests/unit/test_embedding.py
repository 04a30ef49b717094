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


def _overrides(directory: str) -> dict[tuple[str, str], str]:
    return {
        ('DEFAULT', 'host'): 'host1',
        (
            'database',
            'connection',
        ): f'sqlite:///{pathlib.Path(directory, "x")}',
        ('ironic', 'auth_type'): 'none',
        ('ironic', 'endpoint_override'): 'http://127.0.0.1:1',
    }


class TestStart(unittest.TestCase):
    def test_lines_that_nothing_reads_are_not_ignored(self) -> None:
        directory = self.enterContext(tempfile.TemporaryDirectory())
        file = pathlib.Path(directory, 'nova.conf')
        host = embedding.EmbeddedHost(
            config_files=[str(file)], overrides=_overrides(directory)
        )
        file.write_text('[membership]\nrestart_grce = 600\n')
        with self.assertRaisesRegex(
            exceptions.ConfigurationError, 'did you mean restart_grace'
        ):
            host.start()
        file.write_text('[libvirt]\na = b\n[health]\nlisten = 127.0.0.1:1\n')
        with self.assertLogs(embedding.LOG.logger, 'WARNING') as logs:
            host.start()
        self.addCleanup(host.stop)
        self.assertIn('[health] listen has no effect', '\n'.join(logs.output))
        self.assertNotIn('libvirt', '\n'.join(logs.output))

    def test_error_of_an_override_does_not_show_a_secret(self) -> None:
        host = embedding.EmbeddedHost(
            overrides={('enforcement', 'shared_key'): 'hunter2'}
        )
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            host.start()
        self.assertIn('[enforcement] shared_key: ', str(caught.exception))
        self.assertNotIn('hunter2', str(caught.exception))


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
            overrides=_overrides(directory),
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
