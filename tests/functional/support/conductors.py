"""An Ironic with real conductors for tests: each may be killed.

One of them serves the tests of a process: it takes long to start.
"""

from __future__ import annotations

import functools
from typing import Any

import testtools

from lab import conductors, process
from tests.functional.support import databases, host_process

FAKE, MANUAL = 'fake-hardware', 'manual-management'


@functools.cache
def _ironic() -> tuple[conductors.Conductors, list[conductors.Conductor]]:
    url = databases.MARIADB.fresh()
    server = databases.started(
        lambda path: conductors.Conductors(path, url), 'conductors'
    )
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
        """Let these live again, if they do not run."""
        for one in dead:
            if one.process.returncode is not None:
                one.start()
        self.ironic.wait_until_alive(*dead)

    def eventually(self, ready: Any, what: str) -> None:
        process.wait_for(ready, what, timeout=host_process.TIMEOUT)

    def enrol(self, driver: str = FAKE, group: str = '') -> str:
        """Enrol a node, and bring one of fake hardware to available."""
        node = {
            'driver': driver,
            'conductor_group': group,
            'resource_class': 'baremetal',
        }
        uuid = str(self._accepted('POST', '/nodes', node)['uuid'])
        if driver == FAKE:
            self._bring(uuid, 'provision', 'manage', 'manageable')
            self._bring(uuid, 'provision', 'provide', 'available')
            self._bring(uuid, 'power', 'power off', 'power off')
        return uuid

    def _bring(self, uuid: str, kind: str, target: str, state: str) -> None:
        """Ask for a change of state, and wait for it."""
        path = f'/nodes/{uuid}'
        self._accepted('PUT', f'{path}/states/{kind}', {'target': target})

        def settled() -> bool:
            node = self.ironic.request('GET', path)
            return node[f'{kind}_state'] == state and not node['reservation']

        self.eventually(settled, f'{kind} {state}')

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
