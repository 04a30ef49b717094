"""Several processes reserve together, on an Ironic with parallel writes.

Ironic on SQLite does not: here it has a MariaDB, and conductors.
"""

from __future__ import annotations

import concurrent.futures
import json
import time
from typing import Any

from lab import process
from tests.functional.support import (
    command_line,
    conductors,
    hosts,
    reservation_case,
)

_PATIENCE = 600.0
"""Seconds: each deletion that Ironic left unfinished, as any conductor may, is
taken over after one minute only."""


class RacesTest(conductors.ConductorsCase, reservation_case.Reserving):
    """Hosts of two services refresh while others reserve five nodes."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes = [self.enrol() for _ in range(5)]
        self.prepare(self.ironic.endpoint)
        self.deployment = hosts.Deployment(self.ironic.endpoint, self.lab.url)
        self.addCleanup(self.deployment.close)
        self.addCleanup(self.give_back)
        self.addCleanup(self.deployment.stop)
        for name in ('rack1', 'rack2'):
            self.deployment.start(name, 'reservation')
        self.deployment.wait_for_members('rack1', 'rack2')

    def give_back(self) -> None:
        """Let Ironic delete the nodes after the test."""
        self.eventually(self._nothing_is_allocated, 'end of allocations')

    def _nothing_is_allocated(self) -> bool:
        try:
            for uuid in self.allocated():
                self.ironic.request('DELETE', f'/allocations/{uuid}')
        except process.LabError:
            return False  # any conductor is asked, with the driver or without
        return True

    def ask_ironic(self, method: str, path: str, json: Any = None) -> Any:
        return self.ironic.request(method, path, json=json)

    def create_until_finished(
        self, instance: str, host: str
    ) -> command_line.Done:
        deadline = time.monotonic() + _PATIENCE
        while True:
            done = self.lab.run(
                *('reservation', 'create', '-f', 'json'),
                *self.options(instance, host),
            )
            if done.returncode != 4 or time.monotonic() > deadline:
                return done

    def test_two_services_never_get_one_node(self) -> None:
        wanted = {
            reservation_case.instance(): host
            for host in ('rack1', 'rack2')
            for _ in range(4)
        }
        with concurrent.futures.ThreadPoolExecutor(len(wanted)) as pool:
            found = [
                *pool.map(self.create_until_finished, wanted, wanted.values())
            ]
        self.assertEqual(
            [0] * 5 + [3] * 3,
            sorted(done.returncode for done in found),
            [done.stderr for done in found],
        )
        made = [json.loads(d.stdout) for d in found if d.returncode == 0]
        self.assertEqual(
            {one['node_uuid']: wanted[one['instance_uuid']] for one in made},
            self.deployment.owners(),
        )
        self.assertEqual(set(self.nodes), {one['node_uuid'] for one in made})
        self.assert_sound()
