"""HTTP of a host process: answers, places to listen, and their faults."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import resource
import socket
import tempfile
import threading
import unittest
from unittest import mock

from prometheus_client import parser
from waitress.trigger import trigger

from ironic_ownership import metrics as observed
from ironic_ownership.contracts import exceptions
from ironic_ownership.web import health as web
from tests.unit.engine.host.healths import FAILS, WORKS, health


class FileConnection(http.client.HTTPConnection):
    """A connection to a socket file."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.host)


class ServingCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.health = health()
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.file = pathlib.Path(directory, 'host1.sock')

    def serving(self, listen: str = '') -> contextlib.AbstractContextManager:
        return web.serving(listen or str(self.file), lambda: self.health)

    def connect(self) -> http.client.HTTPConnection:
        connection = FileConnection(str(self.file), timeout=30)
        self.addCleanup(connection.close)
        return connection

    def get(self, path: str, method: str = 'GET') -> http.client.HTTPResponse:
        connection = self.connect()
        connection.request(method, path)
        return connection.getresponse()


class TestManyFiles(ServingCase):
    def test_process_with_many_files_answers(self) -> None:
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        more = max(limits[0], 2048), limits[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, more)
        for _ in range(1024):
            self.addCleanup(os.close, os.dup(0))
        with self.serving():
            self.assertEqual(200, self.get('/healthcheck').status)


class TestAnswers(ServingCase):
    def setUp(self) -> None:
        super().setUp()
        self.enterContext(self.serving())

    def test_process_that_does_nothing_is_not_healthy_and_says_why(
        self,
    ) -> None:
        expected = {'service': 'host1', 'role': 'active'}
        for loops, status, healthy, faults in (
            ((WORKS,), 200, True, []),
            ((WORKS, FAILS), 503, False, ['refresh: Ironic does not answer']),
        ):
            self.health = health(loops=loops)
            answer = self.get('/healthcheck')
            self.assertEqual(status, answer.status)
            self.assertEqual(
                {**expected, 'healthy': healthy, 'faults': faults},
                json.load(answer),
            )

    def test_metrics_are_prometheus_own_format(self) -> None:
        self.health = health(loops=(WORKS, FAILS))
        text = self.get('/metrics').read().decode()
        found = {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples
        }
        for metric, *labels, value in (
            ('healthy', 0),
            ('role', 'active', 1),
            ('role', 'standby', 0),
            ('fence_remaining_seconds', 17),
            ('loop_works', 'heartbeat', 1),
            ('loop_works', 'refresh', 0),
            ('loop_success_age_seconds', 'heartbeat', 2),
            ('loop_seconds', 'refresh', 1.5),
            ('nodes_in_scope', 40),
            ('waiting', 'waiting', 2),
            ('brake', 'handover_limit', 1),
            ('brake', 'mass_loss', 0),
            ('errors_total', 'refresh', 'ironic_unavailable', 3),
            ('changes_total', 'claim', 'owner_died', 7),
        ):
            key = f'ironic_ownership_{metric}', *sorted(['host1', *labels])
            self.assertEqual(value, found.get(key), key)

    def test_other_paths_and_methods_are_refused(self) -> None:
        self.assertEqual(404, self.get('/').status)
        self.assertEqual(405, self.get('/metrics', 'POST').status)
        # The answer to HEAD has no body.
        connection = self.connect()
        for method in ('HEAD', 'GET'):
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
    def refused(self, listen: str = '') -> str:
        with (
            self.assertRaises(exceptions.ConfigurationError) as caught,
            self.serving(listen),
        ):
            self.fail('it is served')
        return str(caught.exception)

    def test_loopback_port(self) -> None:
        for host, family in (
            ('127.0.0.1', socket.AF_INET),
            ('::1', socket.AF_INET6),
        ):
            with contextlib.closing(socket.socket(family)) as free:
                free.bind((host, 0))
                port = free.getsockname()[1]
            name = f'[{host}]' if ':' in host else host
            with self.serving(f'{name}:{port}'):
                connection = http.client.HTTPConnection(host, port, timeout=30)
                connection.request('GET', '/healthcheck')
                self.assertEqual(200, connection.getresponse().status)
                connection.close()

    def test_file_belongs_to_one_live_process(self) -> None:
        # That of a process that died is replaced.
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(self.file))
        left.close()
        with self.serving():
            self.assertIn('in use', self.refused())
            self.assertEqual(200, self.get('/healthcheck').status)
        self.assertFalse(self.file.exists())

    def test_wrong_places_are_refused_with_their_reason(self) -> None:
        self.assertIn('without a token', self.refused('192.0.2.1:9396'))
        for listen in (
            *('9396', 'localhost:9396', '127.0.0.1:', '127.0.0.1:93960'),
            *('[::1]:-1', 'x/y.sock'),
        ):
            self.assertIn(f'[health] listen = {listen}', self.refused(listen))
        self.file.write_text('mine')
        self.assertIn('in use', self.refused())
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
        with self.serving():
            pass

    def test_its_threads_end(self) -> None:
        before = self.threads()
        with self.serving():
            self.assertEqual(200, self.get('/healthcheck').status)
        for thread in self.threads() - before:
            thread.join(30)
            self.assertFalse(thread.is_alive(), thread)
