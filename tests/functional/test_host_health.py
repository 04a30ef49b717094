"""Health of a host process: over HTTP, and for systemd.

``tests/unit/web/test_health.py`` has the faults and the metrics.
"""

from __future__ import annotations

import json
import pathlib
import signal
import socket
import threading

from tests.functional.support import hosts
from tests.unit.web import test_health


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
        connection = test_health.FileConnection(str(self.file), timeout=60)
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
        status, text = self.get('/metrics')
        self.assertEqual(200, status)
        self.assertIn('ironic_ownership_healthy{service="host1"} 1.0', text)
        self.assertEqual(1, self.manager.count('READY=1'))
        self.wait_for_watchdog()
        with self.deployment.locked():
            faults = self.wait_for_health(503)['faults']
            self.assertTrue(faults)
            # A restart would not bring the database back.
            self.wait_for_watchdog()
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
