"""Hosts report the nodes of a real Ironic to a real Placement."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ironic_ownership.contracts import placement
from ironic_ownership.engine.placement import inventory_diff
from tests.functional.support import hosts, placements

BARE_METAL = 'CUSTOM_BAREMETAL'
TRAITS = {'CUSTOM_LAB', 'HW_CPU_X86_VMX'}


class ReportTest(hosts.HostsTestCase, placements.PlacementTestCase):
    def start(
        self, name: str, policies: str = 'all', **options: object
    ) -> hosts.Host:
        return self.deployment.start(
            name,
            policies,
            placement={**self.placement_server.options(), **options},
        )

    def part(self, uuid: str, name: str) -> Any:
        """Return a part of a provider, if there is one."""
        answer = self.placement_server.send(
            'GET', f'/resource_providers/{uuid}/{name}'
        )
        return answer.json()[name] if answer.ok else {}

    def traits(self, uuid: str) -> set[str]:
        return set(self.part(uuid, 'traits'))

    def wait_for_inventory(self, uuid: str, total: int, reserved: int) -> None:
        def is_there() -> bool:
            found = self.part(uuid, 'inventories').get(BARE_METAL)
            return bool(
                found
                and (found['total'], found['reserved']) == (total, reserved)
            )

        self.deployment.wait_until(is_there, f'{reserved} of {total} reserved')

    def reported(self) -> set[str]:
        """Return the nodes of which Placement accepted something."""
        return {
            record.uuid
            for record in self.deployment.records.compute_nodes()
            if record.placement_digest is not None
        }

    def wait_for_report(self, uuids: Collection[str]) -> None:
        self.deployment.wait_until(
            lambda: self.reported() >= set(uuids), 'report'
        )

    def wait_until_offered(
        self, uuids: Collection[str], *, offered: bool
    ) -> None:
        self.deployment.wait_until(
            # Placement is asked about the others once the first is so.
            lambda: all(
                (placement.DISABLED in self.traits(u)) is not offered
                for u in uuids
            ),
            f'nodes are offered: {offered}',
        )

    def test_placement_follows_the_nodes_and_their_services(self) -> None:
        deployed, out, *free = nodes = self.enrolment.enrol(
            6, instance_share=0.17
        )
        self.enrolment.set_maintenance(out, True)
        host = self.start('host1')
        self.wait_for_report(nodes)
        self.assertEqual(set(nodes), self.placement_server.providers())
        for uuid in nodes:
            self.wait_for_inventory(uuid, 1, int(uuid in (deployed, out)))
            self.assertEqual(TRAITS, self.traits(uuid))
        # Only the node that changes is written.
        changing, *others = free
        before = [self.placement_server.generation(u) for u in others]
        for maintenance in (True, False):
            self.enrolment.set_maintenance(changing, maintenance)
            self.wait_for_inventory(changing, 1, int(maintenance))
        self.wait_for_report(self.enrolment.enrol(1))
        self.assertEqual(
            before, [self.placement_server.generation(u) for u in others]
        )
        # Nodes of a dead service are not offered, and stay its own.
        self.start('host2')
        self.deployment.wait_for_members('host1', 'host2')
        host.kill()
        self.wait_until_offered(nodes, offered=False)
        self.assertLessEqual(set(nodes), self.deployment.owned_by('host1'))
        self.start('host1')
        self.wait_until_offered(nodes, offered=True)
        self.assertEqual(TRAITS, self.traits(changing))

    def test_services_that_reserve_report_what_they_may_reserve(self) -> None:
        nodes = self.enrolment.enrol(4, instance_share=0.25)
        self.enrolment.set_maintenance(nodes[3], True)
        names = ('host1', 'host2')
        running = [self.start(name, 'reservation') for name in names]
        providers = [inventory_diff.service_uuid(name) for name in names]
        for uuid in providers:
            self.wait_for_inventory(uuid, 4, 2)
        self.assertEqual(set(providers), self.placement_server.providers())
        self.enrolment.enrol(2)
        self.enrolment.set_maintenance(nodes[3], False)
        for uuid in providers:
            self.wait_for_inventory(uuid, 6, 1)
        # A provider goes with its service.
        self.assertEqual(0, running[1].terminate())
        self.deployment.wait_until(
            lambda: self.deployment.members() == {'host1'}, 'end of host2'
        )
        self.deployment.more = {'placement': self.placement_server.options()}
        done = self.deployment.operate('service', 'delete', 'host2', '--yes')
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual({providers[0]}, self.placement_server.providers())

    def test_nothing_is_reported_where_that_is_turned_off(self) -> None:
        nodes = self.enrolment.enrol(3)
        self.start('host1', report_inventory='false')
        self.deployment.wait_for_owners(dict.fromkeys(nodes, 'host1'))
        self.deployment.wait_for_beats('host1', 3)
        self.assertEqual(set(), self.placement_server.providers())
        self.assertEqual(set(), self.reported())
