"""Health of a host process: over HTTP, and for systemd."""

from __future__ import annotations

import http.client
import json
import pathlib
import signal
import socket
import threading

from prometheus_client import parser

from tests.functional.support import hosts


class FileConnection(http.client.HTTPConnection):
    """A connection to a socket file."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.host)


class Manager:
    """Receives what a process sends to its service manager.

    :ivar received: the messages in their order.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self.received: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while message := self._socket.recv(65536).decode('latin-1'):
            self.received.append(message)

    def close(self) -> None:
        """Receive no more."""
        address = self._socket.getsockname()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b'', address)
        self._thread.join()
        self._socket.close()

    def count(self, start: str) -> int:
        """Return how many messages start with a text."""
        return sum(one.startswith(start) for one in self.received)


class TestHealth(hosts.HostsTestCase):
    def setUp(self) -> None:
        super().setUp()
        # Short paths: that of a socket file has a limit.
        self.file = self.deployment.directory / 'health'
        notify = self.deployment.directory / 'notify'
        self.manager = Manager(notify)
        self.addCleanup(self.manager.close)
        self.deployment.environment = {
            'NOTIFY_SOCKET': str(notify),
            'WATCHDOG_USEC': '2000000',
        }
        self.deployment.more = {'health': {'listen': str(self.file)}}

    def get(self, path: str) -> tuple[int, str]:
        connection = FileConnection(str(self.file), timeout=hosts.TIMEOUT)
        try:
            connection.request('GET', path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (FileNotFoundError, ConnectionRefusedError):
            return 0, 'it does not listen yet'
        finally:
            connection.close()

    def wait_for_health(self, status: int) -> dict[str, object]:
        self.deployment.wait_until(
            lambda: self.get('/healthcheck')[0] == status, f'status {status}'
        )
        return json.loads(self.get('/healthcheck')[1])

    def metrics(self) -> dict[tuple[str, ...], float]:
        return {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in parser.text_string_to_metric_families(
                self.get('/metrics')[1]
            )
            for sample in family.samples
        }

    def wait_for_watchdog(self) -> None:
        before = self.manager.count('WATCHDOG=1')
        self.deployment.wait_until(
            lambda: self.manager.count('WATCHDOG=1') > before, 'watchdog'
        )

    def test_process_is_healthy_while_it_works(self) -> None:
        uuids = self.enrolment.enrol(3)
        host = self.deployment.start('host1', 'all')
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        found = self.wait_for_health(200)
        self.assertEqual(('active', []), (found['role'], found['faults']))
        metrics = self.metrics()
        name = 'ironic_ownership_{}'.format
        self.assertEqual(1, metrics[name('healthy'), 'host1'])
        self.assertEqual(
            3, metrics[name('changes_total'), 'claim', 'exclusive', 'host1']
        )
        self.assertEqual(1, metrics[name('loop_works'), 'host1', 'refresh'])
        self.assertGreater(
            metrics[name('fence_remaining_seconds'), 'host1'], 0
        )
        self.assertEqual(1, self.manager.count('READY=1'))
        self.wait_for_watchdog()
        with self.deployment.locked():
            faults = self.wait_for_health(503)['faults']
            self.assertTrue(faults)
            # A restart would not bring the database back.
            self.wait_for_watchdog()
            errors = [
                key for key in self.metrics() if key[0] == name('errors_total')
            ]
            self.assertTrue(any('heartbeat' in key for key in errors), errors)
        self.wait_for_health(200)
        self.assertIn(
            'STATUS=host1: serving', self.manager.received, 'systemd'
        )
        host.process.signal(signal.SIGHUP)
        self.deployment.wait_until(
            lambda: self.manager.count('READY=1') == 2, 'end of the reload'
        )
        self.assertEqual(1, self.manager.count('RELOADING=1\nMONOTONIC_USEC='))
        self.assertEqual(0, host.terminate())
        # What it sent may be read after its end was seen.
        self.deployment.wait_until(
            lambda: self.manager.count('STOPPING=1'), 'sign of the stop'
        )
        self.assertEqual(1, self.manager.count('STOPPING=1'))
        self.assertFalse(self.file.exists())
