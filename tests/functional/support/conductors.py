"""An Ironic with real conductors for tests: each may be killed.

One of them serves the tests of a process: it takes long to start.
"""

from __future__ import annotations

import atexit
import functools
import time
from typing import Any

import testtools

from lab import conductors, process
from tests.functional.support import databases, host_process

FAKE, MANUAL = 'fake-hardware', 'manual-management'


@functools.cache
def _ironic() -> tuple[conductors.Conductors, list[conductors.Conductor]]:
    server = conductors.Conductors(
        databases.temporary_directory('conductors'), databases.MARIADB.fresh()
    )
    # Registered after the directory's removal, so it runs before it.
    atexit.register(server.stop)
    server.start()
    started = [
        server.add(FAKE),
        server.add(FAKE, group='g1'),
        server.add(MANUAL),
    ]
    server.wait_until_alive(*started)
    return server, started


class ConductorsCase(testtools.TestCase):
    """Three conductors live when a test begins, and no node is there.

    :ivar plain: has ``fake-hardware`` in the default group.
    :ivar grouped: has ``fake-hardware`` in the group g1.
    :ivar manual: has ``manual-management`` in the default group.
    """

    def setUp(self) -> None:
        super().setUp()
        self.ironic, found = _ironic()
        self.plain, self.grouped, self.manual = found
        self.addCleanup(self._restore)

    def _restore(self) -> None:
        """Bring back who was killed, and delete the nodes."""
        self.revive(self.plain, self.grouped, self.manual)
        for node in self.ironic.request('GET', '/nodes')['nodes']:
            self.eventually(
                lambda uuid=node['uuid']: self._deleted(uuid), 'deletion'
            )

    def _deleted(self, uuid: str) -> bool:
        path = f'/nodes/{uuid}'
        try:
            self.ironic.request('DELETE', path)
        except process.LabError:
            return False  # the hash ring of the API is older than we are
        return True

    def revive(self, *dead: conductors.Conductor) -> None:
        """Start these again if they do not run, and wait until they live."""
        for one in dead:
            if one.process.returncode is not None:
                one.start()
        self.ironic.wait_until_alive(*dead)

    def eventually(self, ready: Any, what: str) -> None:
        """Wait until a probe succeeds."""
        deadline = time.monotonic() + host_process.TIMEOUT
        while not ready():
            if time.monotonic() > deadline:
                self.fail(f'no {what} within {host_process.TIMEOUT:g} s')
            time.sleep(0.1)

    def enrol(self, driver: str = FAKE, group: str = '') -> str:
        """Enrol a node, and bring one of fake hardware to available."""
        node = {
            'driver': driver,
            'conductor_group': group,
            'resource_class': 'baremetal',
        }
        uuid = str(self._accepted('POST', '/nodes', node)['uuid'])
        if driver == FAKE:
            for verb, state in (
                ('manage', 'manageable'),
                ('provide', 'available'),
            ):
                self._put(uuid, 'provision', verb)
                self._wait(uuid, 'provision_state', state)
            self._put(uuid, 'power', 'power off')
            self._wait(uuid, 'power_state', 'power off')
        return uuid

    def _put(self, uuid: str, kind: str, target: str) -> None:
        path = f'/nodes/{uuid}/states/{kind}'
        self._accepted('PUT', path, {'target': target})

    def _accepted(self, method: str, path: str, json: Any) -> dict[str, Any]:
        """Send a request until Ironic accepts it; return the answer.

        A conductor that has just started is alive before its drivers are
        known, and one that starves counts as dead.
        """
        answers: list[dict[str, Any]] = []

        def accepted() -> bool:
            try:
                answers.append(self.ironic.request(method, path, json=json))
            except process.LabError:
                return False
            return True

        self.eventually(accepted, f'{method} {path}')
        return answers[-1]

    def _wait(self, uuid: str, field: str, value: str) -> None:
        self.eventually(
            lambda: self._settled(uuid, field, value), f'{field} {value}'
        )

    def _settled(self, uuid: str, field: str, value: str) -> bool:
        node = self.ironic.request('GET', f'/nodes/{uuid}')
        return node[field] == value and not node['reservation']
