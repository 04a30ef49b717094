"""Fifty members come and go, and three that stay own everything in the end."""

from __future__ import annotations

import pathlib
import sys

from ironic_ownership.contracts.events import EventKind
from tests.functional.faults.support import churning_members, incident
from tests.functional.support import hosts

STAYING = ('host1', 'host2', 'host3')
CROWDS, SIZE = 5, 10
ENOUGH = 80
"""Registrations of members that flap."""

SLOWLY: hosts.Sections = {
    'ownership': {'refresh_interval': 5},
    'membership': {
        'heartbeat_interval': 3,
        'member_ttl': 12,
        'fence_margin': 3,
        'watch_interval': 2,
    },
}


class TestFlapping(incident.IncidentTestCase):
    def test_fifty_members_that_flap_break_no_law(self) -> None:
        self.deployment.more = SLOWLY
        self.start(*STAYING)
        uuids, deployed = self.enrol(40)
        owners = self.wait_for_ring(uuids, STAYING)
        crowds = [self.gather(number) for number in range(CROWDS)]
        for enough in range(0, ENOUGH, 5):
            self.deployment.wait_until(
                lambda enough=enough: self.registrations() > enough,  # type: ignore[misc]
                'coming and going',
            )
        killed, frozen, *rest = crowds
        killed.kill()
        frozen.freeze()
        for each in rest:
            self.assertEqual(0, each.terminate(), each.troubles())
        self.deployment.wait_until(
            lambda: self.deployment.members() == set(STAYING), 'calm'
        )
        frozen.thaw()
        self.assertEqual(0, frozen.terminate(), frozen.troubles())
        free = [uuid for uuid in uuids if uuid not in deployed]
        self.wait_for_ring(free, STAYING)
        self.assertEqual(
            {uuid: owners[uuid] for uuid in deployed},
            {uuid: self.deployment.owners()[uuid] for uuid in deployed},
        )

    def gather(self, number: int) -> hosts.Host:
        """Start a process with many members."""
        names = [f'member{number}{n}' for n in range(SIZE)]
        deployment = self.deployment
        deployment.watched.update(names)
        deployment.command = (
            sys.executable,
            churning_members.__file__,
            *names,
        )
        root = pathlib.Path(churning_members.__file__).parents[4]
        deployment.environment = {'PYTHONPATH': str(root)}
        started = deployment.launch(f'crowd{number}')
        deployment.command, deployment.environment = (), None
        return started

    def registrations(self) -> int:
        """Return how often members that flap have come."""
        return sum(
            event.kind == EventKind.SERVICE_REGISTERED
            and event.actor not in STAYING
            for event in self.deployment.events()
        )
