from __future__ import annotations

import threading
import unittest
from unittest import mock

from ironic_ownership_nova import service

from ironic_ownership.embedding import LostPlace, PlaceState, exceptions
from tests import support


class ServiceTest(unittest.TestCase):
    def setUp(self) -> None:
        self.hosts: list[support.Host] = []
        self.prepare = lambda host: None
        self.followed = mock.Mock()
        self.service = service.Service(self.make, self.followed, 30.0)
        self.addCleanup(self.service.stop)
        patch = mock.patch.object(service, 'end_process')
        self.ended = patch.start()
        self.addCleanup(patch.stop)

    def make(self, on_lost_place) -> support.Host:
        host = support.Host(on_lost_place)
        self.hosts.append(host)
        self.prepare(host)
        return host

    def test_start_waits_until_it_is_active(self) -> None:
        self.prepare = lambda host: setattr(host, 'active_after', 3)
        self.service.start()
        self.assertEqual(['start', *['wait'] * 4], self.hosts[0].calls)
        self.assertIs(self.hosts[0].feed, self.service.feed)

    def test_error_of_the_configuration_ends_the_start(self) -> None:
        def refuse(host: support.Host) -> None:
            raise exceptions.ConfigurationError(['no'])

        self.prepare = refuse
        with self.assertRaises(exceptions.ConfigurationError):
            self.service.start()

    def test_fenced_service_offers_nothing(self) -> None:
        self.service.start()
        self.hosts[0].feed.is_complete = False
        self.assertIsNone(self.service.feed)

    def test_guard_has_patience_and_the_instance(self) -> None:
        self.service.start()
        self.service.permit(support.FREE, instance_uuid='i')
        self.assertEqual(
            f'guard {support.FREE} 30.0 i', self.hosts[0].calls[-1]
        )

    def test_service_that_resigned_may_not_act(self) -> None:
        self.service.start()
        self.service.resign()
        self.assertEqual('stop', self.hosts[0].calls[-1])
        self.assertIsNone(self.service.feed)
        with self.assertRaises(exceptions.FencedError):
            self.service.permit(support.FREE, instance_uuid=None)

    def test_returns_with_a_new_host(self) -> None:
        self.service.start()
        self.service.resign()
        self.service.rejoin()
        self.assertEqual(2, len(self.hosts))
        self.assertIs(self.hosts[1].feed, self.service.feed)
        self.ended.assert_not_called()

    def test_ends_if_another_process_became_active_meanwhile(self) -> None:
        self.service.start()
        self.service.resign()

        def standby(host: support.Host) -> None:
            host.active_after, host.state = 1, PlaceState.STANDBY

        self.prepare = standby
        self.service.rejoin()
        self.ended.assert_called_once()

    def test_process_that_lost_its_place_ends(self) -> None:
        self.service.start()
        for state in service.LOST:
            self.ended.reset_mock()
            self.hosts[0].on_lost_place(LostPlace(state, 'because'))
            self.ended.assert_called_once_with('because')

    def test_stop_is_no_loss(self) -> None:
        self.service.start()
        self.service.stop()
        self.hosts[0].on_lost_place(LostPlace(PlaceState.STANDBY, 'because'))
        self.ended.assert_not_called()

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
        with self.assertLogs(level='ERROR'):
            self.service.start()
            self.assertTrue(done.wait(30))
