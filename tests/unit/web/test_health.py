"""HTTP of a host process: answers, places to listen, and their faults."""

from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
import socket
import tempfile
import threading
import unittest
from unittest import mock

from prometheus_client import parser
from waitress.trigger import trigger

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host.health import Health
from ironic_ownership.observe import metrics as observed
from ironic_ownership.web import health as web
from tests.unit.engine.host.healths import FAILS, WORKS, health


class FileConnection(http.client.HTTPConnection):
    """A connection to a socket file."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


class ServingCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.health = health()
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.file = pathlib.Path(directory, 'host1.sock')

    def read(self) -> Health:
        return self.health

    def serve(self, listen: str) -> None:
        self.enterContext(web.serving(listen, self.read))

    def get(self, path: str, method: str = 'GET') -> http.client.HTTPResponse:
        connection = FileConnection(str(self.file), timeout=30)
        self.addCleanup(connection.close)
        connection.request(method, path)
        return connection.getresponse()


class TestAnswers(ServingCase):
    def setUp(self) -> None:
        super().setUp()
        self.serve(str(self.file))

    def test_process_that_works_is_healthy(self) -> None:
        answer = self.get('/healthcheck')
        self.assertEqual(200, answer.status)
        self.assertEqual(
            {
                'service': 'host1',
                'role': 'active',
                'healthy': True,
                'faults': [],
            },
            json.load(answer),
        )

    def test_process_that_does_nothing_is_not_and_says_why(self) -> None:
        self.health = health(loops=(WORKS, FAILS))
        answer = self.get('/healthcheck')
        self.assertEqual(503, answer.status)
        self.assertEqual(
            ['refresh: Ironic does not answer'], json.load(answer)['faults']
        )

    def test_metrics_are_prometheus_own_format(self) -> None:
        self.health = health(loops=(WORKS, FAILS))
        found = {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in parser.text_string_to_metric_families(
                self.get('/metrics').read().decode()
            )
            for sample in family.samples
        }
        name = 'ironic_ownership_{}'.format
        expected = {
            (name('healthy'), 'host1'): 0,
            (name('role'), 'host1', 'active'): 1,
            (name('role'), 'host1', 'standby'): 0,
            (name('fence_remaining_seconds'), 'host1'): 17,
            (name('loop_works'), 'host1', 'heartbeat'): 1,
            (name('loop_works'), 'host1', 'refresh'): 0,
            (name('loop_success_age_seconds'), 'host1', 'heartbeat'): 2,
            (name('loop_seconds'), 'host1', 'refresh'): 1.5,
            (name('nodes_in_scope'), 'host1'): 40,
            (name('waiting'), 'host1', 'waiting'): 2,
            (name('brake'), 'host1', 'handover_limit'): 1,
            (name('brake'), 'host1', 'mass_loss'): 0,
            (
                name('errors_total'),
                'host1',
                'refresh',
                'ironic_unavailable',
            ): 3,
            (name('changes_total'), 'host1', 'claim', 'owner_died'): 7,
        }
        expected = {
            (metric, *sorted(labels)): value
            for (metric, *labels), value in expected.items()
        }
        self.assertEqual(expected, {k: found.get(k) for k in expected})

    def test_other_paths_and_methods_are_refused(self) -> None:
        self.assertEqual(404, self.get('/').status)
        self.assertEqual(405, self.get('/metrics', 'POST').status)
        self.assertEqual(200, self.get('/healthcheck', 'HEAD').status)

    def test_answer_to_head_has_no_body(self) -> None:
        connection = FileConnection(str(self.file), timeout=30)
        self.addCleanup(connection.close)
        for method in ('HEAD', 'GET'):  # over the same connection
            connection.request(method, '/healthcheck')
            answer = connection.getresponse()
            self.assertEqual(200, answer.status)
            length = answer.headers['Content-Length']
            self.assertNotEqual('0', length)
            found = len(answer.read())
        self.assertEqual(length, str(found))

    def test_process_before_its_first_refresh_has_metrics(self) -> None:
        self.health = health(summary=None, loops=())
        self.assertEqual(200, self.get('/metrics').status)
        names = [one.name for one in observed.of_process(self.health)]
        self.assertEqual(sorted(set(names)), sorted(names))


class TestPlaces(ServingCase):
    def refused(self, listen: str) -> str:
        with (
            self.assertRaises(exceptions.ConfigurationError) as caught,
            web.serving(listen, self.read),
        ):
            self.fail('it is served')
        return str(caught.exception)

    def test_loopback_port(self) -> None:
        for host, family in (
            ('127.0.0.1', socket.AF_INET),
            ('[::1]', socket.AF_INET6),
        ):
            with contextlib.closing(socket.socket(family)) as free:
                free.bind((host.strip('[]'), 0))
                port = free.getsockname()[1]
            self.serve(f'{host}:{port}')
            connection = http.client.HTTPConnection(
                host.strip('[]'), port, timeout=30
            )
            connection.request('GET', '/healthcheck')
            self.assertEqual(200, connection.getresponse().status)
            connection.close()

    def test_file_of_a_process_that_died_is_replaced(self) -> None:
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(self.file))
        left.close()
        self.serve(str(self.file))
        self.assertEqual(200, self.get('/healthcheck').status)

    def test_file_is_removed_at_the_end(self) -> None:
        with web.serving(str(self.file), self.read):
            self.assertTrue(self.file.exists())
        self.assertFalse(self.file.exists())

    def test_file_of_a_live_process_is_left_alone(self) -> None:
        self.serve(str(self.file))
        self.assertIn('in use', self.refused(str(self.file)))
        self.assertEqual(200, self.get('/healthcheck').status)

    def test_wrong_places_are_refused_with_their_reason(self) -> None:
        self.assertIn('without a token', self.refused('192.0.2.1:9396'))
        for listen in (
            '9396',
            'localhost:9396',
            '127.0.0.1:',
            '127.0.0.1:93960',
            '[::1]:-1',
            'x/y.sock',
        ):
            self.assertIn(f'[health] listen = {listen}', self.refused(listen))
        self.file.write_text('mine')
        self.assertIn('in use', self.refused(str(self.file)))
        self.assertEqual('mine', self.file.read_text())


class TestEnd(ServingCase):
    def threads(self) -> set[threading.Thread]:
        return set(threading.enumerate())

    def test_request_that_ends_at_the_same_moment_does_no_harm(self) -> None:
        """Its thread wakes the loop before the caller does."""
        before, wake = self.threads(), trigger._physical_pull

        def wake_twice(served: trigger) -> None:
            wake(served)
            for loop in self.threads() - before:
                if loop.name == 'health':
                    loop.join(30)
            wake(served)

        self.enterContext(
            mock.patch.object(trigger, '_physical_pull', wake_twice)
        )
        with web.serving(str(self.file), self.read):
            pass

    def test_its_threads_end(self) -> None:
        before = self.threads()
        with web.serving(str(self.file), self.read):
            self.assertEqual(200, self.get('/healthcheck').status)
        for thread in self.threads() - before:
            thread.join(30)
            self.assertFalse(thread.is_alive(), thread)
