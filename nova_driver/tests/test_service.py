from __future__ import annotations

import signal
import threading
import unittest
from unittest import mock

from ironic_ownership.embedding import LostPlace, PlaceState, exceptions
from ironic_ownership_nova import service
from tests import support


class ServiceTest(unittest.TestCase):
    def setUp(self) -> None:
        self.hosts: list[support.Host] = []
        self.prepare = lambda host: None
        self.followed = mock.Mock()
        self.activated = mock.Mock()
        self.service = service.Service(
            self.make, self.followed, 30.0, self.activated
        )
        self.addCleanup(self.service.stop)
        patch = mock.patch.object(service.signal, 'pthread_kill')
        self.killed = patch.start()
        self.addCleanup(patch.stop)

    def make(self, on_lost_place) -> support.Host:
        host = support.Host(on_lost_place)
        self.hosts.append(host)
        self.prepare(host)
        return host

    def test_place_that_is_lost_before_it_serves_is_waited_for(self) -> None:
        def lose(host: support.Host) -> None:
            def complete(timeout: float) -> bool:
                # Frozen here, until another process has taken the place.
                if host.calls.count('wait') == 1:
                    host.state, host.active_after = PlaceState.STANDBY, 3
                    host.on_lost_place(LostPlace(host.state, 'because'))
                else:
                    host.state = PlaceState.ACTIVE
                return True

            host.feed.wait_until_complete = complete

        self.prepare = lose
        self.service.start()
        self.assertEqual(['start', *['wait'] * 4], self.hosts[0].calls)
        self.killed.assert_not_called()

    def test_error_that_ends_the_host_ends_the_start(self) -> None:
        """Also while the first list of nodes is waited for."""

        def fail(host: support.Host) -> None:
            def complete(timeout: float) -> bool:
                host.wait_until_active = mock.Mock(side_effect=ValueError)
                return False

            host.feed.wait_until_complete = complete

        self.prepare = fail
        self.assertRaises(ValueError, self.service.start)

    def test_standby_says_once_what_it_waits_for(self) -> None:
        self.prepare = lambda host: vars(host).update(active_after=4)
        with self.assertLogs(service.LOG.logger, 'INFO') as logs:
            self.service.start()
        said = [line for line in logs.output if 'waiting to' in line]
        self.assertEqual(1, len(said), logs.output)
        self.assertNotIn('', [line.getMessage() for line in logs.records])

    def test_service_acts_between_its_start_and_its_stop(self) -> None:
        self.service.start()
        (host,) = self.hosts
        self.activated.assert_called_once_with(7)
        self.assertIs(host.feed, self.service.feed)
        self.service.permit(support.FREE, instance_uuid='i')
        self.assertEqual(f'guard {support.FREE} 30.0 i', host.calls[-1])
        # A fenced service offers nothing.
        host.feed.is_complete = False
        self.assertIsNone(self.service.feed)
        self.service.stop()
        self.assertEqual('stop', host.calls[-1])
        self.assertIsNone(self.service.feed)
        with self.assertRaises(exceptions.FencedError):
            self.service.permit(support.FREE, instance_uuid=None)
        # It returns with a new host; a stop is no loss.
        host.on_lost_place(LostPlace(PlaceState.STANDBY, 'because'))
        self.service.rejoin()
        self.assertEqual(2, len(self.hosts))
        self.assertIs(self.hosts[1].feed, self.service.feed)
        self.killed.assert_not_called()
        self.assertFalse(self.service.is_ending)

    def test_return_that_finds_its_place_lost_ends_the_process(self) -> None:
        def forced_down(host: support.Host) -> None:
            host.state = PlaceState.FORCED_DOWN
            host.feed.is_complete = False

        def standby(host: support.Host) -> None:
            host.active_after, host.state = 1, PlaceState.STANDBY

        for prepare in (forced_down, standby):
            with self.subTest(prepare.__name__):
                self.doCleanups()
                self.setUp()
                self.service.start()
                self.service.stop()
                self.prepare = prepare
                with self.assertLogs(service.__name__, 'CRITICAL'):
                    self.service.rejoin()
                self.assert_ending()
                self.assertEqual('stop', self.hosts[1].calls[-1])
                self.assertIsNone(self.service.feed)

    def test_nodes_are_compared_with_all_that_it_had_before(self) -> None:
        """Others have had its nodes meanwhile."""
        followed = threading.Event()
        self.followed.side_effect = lambda changes: followed.set()
        self.service.start()
        self.service.stop()
        self.prepare = lambda host: host.feed.views.update(
            {support.FREE: support.view()}
        )
        self.service.rejoin()
        self.assertTrue(followed.wait(30))
        (changes,) = self.followed.call_args.args
        self.assertTrue(changes.reset)
        self.assertEqual({support.FREE}, {*changes.gained})

    def test_return_ends_with_the_program(self) -> None:
        self.service.start()
        self.service.stop()
        for field in ('wait_until_active', 'feed'):

            def close(host: support.Host, field: str = field) -> None:
                if field == 'feed':
                    host.feed.is_complete = False
                host.wait_until_active = lambda timeout: (
                    self.service.close() or field == 'feed'
                )

            self.prepare = close
            self.service.rejoin()
            self.assertEqual('stop', self.hosts[-1].calls[-1])
            self.assertIsNone(self.service.feed)
        self.killed.assert_not_called()

    def test_lost_place_ends_a_process_that_can_start_no_thread(self) -> None:
        self.service.start()
        (host,) = self.hosts
        full = RuntimeError("can't start new thread")
        with (
            mock.patch.object(threading.Thread, 'start', side_effect=full),
            self.assertRaises(RuntimeError),
        ):
            host.on_lost_place(LostPlace(PlaceState.STANDBY, 'because'))
        self.killed.assert_called_once_with(
            threading.main_thread().ident, signal.SIGTERM
        )

    def assert_ending(self) -> None:
        self.killed.assert_called_once_with(
            threading.main_thread().ident, signal.SIGTERM
        )
        self.assertTrue(self.service.is_ending)

    def test_process_that_lost_its_place_refuses_all_and_ends(self) -> None:
        for state in service.LOST:
            self.killed.reset_mock()
            self.service.start()
            host = self.hosts[-1]
            stopped = threading.Event()
            host.stop = stopped.set
            with self.assertLogs(service.__name__, 'CRITICAL') as logged:
                host.on_lost_place(LostPlace(state, 'because'))
            self.assertIn('this process ends: because', logged.output[0])
            self.assert_ending()
            self.assertTrue(stopped.wait(30))
            with self.assertRaises(exceptions.FencedError):
                self.service.permit(support.FREE, instance_uuid=None)

    def test_changes_are_followed_and_errors_do_not_end_that(self) -> None:
        done = threading.Event()
        results = [ValueError(), done.set]

        def follow(changes: object) -> None:
            found = results.pop(0)
            if isinstance(found, Exception):
                raise found
            found()

        self.service._follow = follow
        changes = mock.MagicMock(generation=2)
        changes.__bool__.return_value = True

        def busy(host: support.Host) -> None:
            host.feed.changes_since = mock.Mock(
                side_effect=[changes, changes, *[mock.DEFAULT] * 10**6],
                return_value=mock.MagicMock(
                    generation=2, __bool__=lambda self: False
                ),
            )
            host.feed.wait = lambda *words: done.wait(0.01)

        self.prepare = busy
        with self.assertLogs(service.__name__, 'ERROR'):
            self.service.start()
            self.assertTrue(done.wait(30))
