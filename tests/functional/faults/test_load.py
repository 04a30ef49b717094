"""Hosts die one after the other while nodes and instances come and go."""

from __future__ import annotations

import uuid as uuid_

from tests.functional.faults.support import incident

THREE = ('host1', 'host2', 'host3')


class TestLoad(incident.IncidentTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.running = dict(zip(THREE, self.start(*THREE), strict=True))
        self.uuids = self.enrolment.enrol(150)
        self.wait_for_ring(self.uuids, THREE)
        self.deployed: set[str] = set()

    def work(self) -> None:
        """Deploy some nodes, clean others up, enrol and delete some."""
        free = [u for u in self.uuids if u not in self.deployed]
        for uuid in sorted(self.deployed)[:4]:
            self.enrolment.set_instance(uuid, None)
            self.deployed.discard(uuid)
        for uuid in free[:6]:
            self.enrolment.set_instance(uuid, str(uuid_.uuid4()))
            self.deployed.add(uuid)
        for uuid in free[-2:]:
            self.enrolment.delete(uuid)
            self.uuids.remove(uuid)
        self.uuids += self.enrolment.enrol(10)

    def test_deaths_under_load_break_no_law(self) -> None:
        for name in THREE[:2]:
            before = self.deployment.last_event()
            self.running[name].kill()
            self.work()
            self.wait_for_lapse(name, before)
            self.work()
            self.running[name] = self.deployment.launch(name)
            self.work()
            self.wait_for_members(*THREE)
        self.assert_settled()

    def assert_settled(self) -> None:
        """See free nodes with the ring, and all others with some service."""
        free = [u for u in self.uuids if u not in self.deployed]
        self.wait_for_ring(free, THREE)
        self.deployment.wait_until(
            lambda: (
                self.deployed <= self.instances()
                and not self.instances() & set(free)
            ),
            'instances',
        )
        for host in self.running.values():
            self.assertIsNone(host.process.returncode, host.troubles())

    def instances(self) -> set[str]:
        """Return the nodes with an instance on record."""
        return {
            node.uuid
            for node in self.deployment.records.compute_nodes()
            if node.instance_uuid is not None
        }
