"""Hosts report the nodes of a real Ironic to a real Placement."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from ironic_ownership.contracts import model, placement
from ironic_ownership.engine.placement import inventory_diff
from lab import proxy
from tests.functional.support import command_line, hosts, placements

BARE_METAL = 'CUSTOM_BAREMETAL'
TRAITS = {'CUSTOM_LAB', 'HW_CPU_X86_VMX'}
_WRITE = re.compile(
    r'"(POST|PUT|DELETE) /resource_providers(?:/([0-9a-f-]+))?'
)


class _Reporting(hosts.HostsTestCase, placements.PlacementTestCase):
    """Starts hosts that report, and asks Placement what it knows."""

    def setUp(self) -> None:
        super().setUp()
        self.log = self.placement_server.directory / 'placement.log'

    def start(
        self, name: str = 'host1', policies: str = 'all', url: str = ''
    ) -> hosts.Host:
        options = self.placement_server.options(url or None)
        return self.deployment.start(name, policies, placement=options)

    def reserved(self, uuid: str) -> int | None:
        """Return what is reserved; ``None`` without such an inventory."""
        answer = self.placement_server.send(
            'GET', f'/resource_providers/{uuid}/inventories'
        )
        if not answer.ok:
            return None
        found = answer.json()['inventories'].get(BARE_METAL)
        return None if found is None else int(found['reserved'])

    def traits(self, uuid: str) -> set[str]:
        found = self.placement_server.request(
            'GET', f'/resource_providers/{uuid}/traits'
        )
        return set(found['traits'])

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

    def wait_for_reserved(self, uuid: str, reserved: int) -> None:
        """Wait until Placement says so, and until that is on record."""
        known = inventory_diff.wanted(
            model.Node(uuid, resource_class='baremetal', traits=(*TRAITS,)),
            'any reason' if reserved else None,
        )
        self.deployment.wait_until(
            lambda: (
                self.reserved(uuid) == reserved
                and self.digest(uuid) == known.digest
            ),
            f'inventory with {reserved} reserved',
        )

    def digest(self, uuid: str) -> str | None:
        (record,) = self.deployment.records.compute_nodes_by_uuid([uuid])
        return record.placement_digest

    def writes(self) -> list[tuple[str, str]]:
        """Return (method, uuid) of the writes of providers so far."""
        return _WRITE.findall(self.log.read_text())

    def generations(self, uuids: Collection[str]) -> dict[str, int]:
        return {u: self.placement_server.generation(u) for u in uuids}

    def next_refresh(self) -> None:
        """Wait until one more refresh was reported."""
        (new,) = self.enrolment.enrol(1)
        self.wait_for_report([new])


class ReportTest(_Reporting):
    def setUp(self) -> None:
        super().setUp()
        self.nodes = self.enrolment.enrol(12, instance_share=0.25)
        self.enrolment.set_maintenance(self.nodes[11], True)
        self.host = self.start()
        self.wait_for_report(self.nodes)

    def test_each_node_has_a_provider_as_the_node_is(self) -> None:
        self.assertEqual(set(self.nodes), self.placement_server.providers())
        self.assertEqual(
            [1] * 3 + [0] * 8 + [1], [self.reserved(u) for u in self.nodes]
        )
        for uuid in self.nodes:
            self.assertEqual(TRAITS, self.traits(uuid))

    def test_only_the_node_that_changes_is_written(self) -> None:
        changing, *others = self.nodes[3:]
        before = self.generations(others)
        for maintenance in (True, False):
            self.enrolment.set_maintenance(changing, maintenance)
            self.wait_for_reserved(changing, int(maintenance))
        self.next_refresh()
        self.assertEqual(before, self.generations(others))

    def test_nodes_of_a_dead_service_are_not_offered_until_it_returns(
        self,
    ) -> None:
        self.start('host2')
        self.deployment.wait_for_members('host1', 'host2')
        self.host.kill()
        self.wait_until_offered(offered=False)
        self.assertEqual(set(self.nodes), self.deployment.owned_by('host1'))
        self.start()
        self.wait_until_offered(offered=True)
        self.assertEqual(TRAITS, self.traits(self.nodes[3]))

    def wait_until_offered(self, *, offered: bool) -> None:
        self.deployment.wait_until(
            lambda: (
                {placement.DISABLED in self.traits(u) for u in self.nodes}
                == {not offered}
            ),
            f'nodes are offered: {offered}',
        )

    def unavailable(self, uuid: str) -> str | None:
        (record,) = self.deployment.records.compute_nodes_by_uuid([uuid])
        return record.unavailable


class OutageTest(_Reporting):
    def test_outage_is_logged_once_and_delays_no_claim(
        self,
    ) -> None:
        self.placement_server.stop()
        self.addCleanup(self.placement_server.start)
        nodes = self.enrolment.enrol(3)
        host = self.start()
        self.deployment.wait_until(
            lambda: host.lines('Placement is not updated'), 'a warning'
        )
        nodes += self.enrolment.enrol(3)
        self.deployment.wait_for_owners(dict.fromkeys(nodes, 'host1'))
        self.assertEqual(set(nodes), self.context(host))
        self.placement_server.start()
        self.wait_for_report(nodes)
        self.assertEqual(set(), self.context(host))
        self.assertEqual(set(nodes), self.placement_server.providers())
        warned = [
            line for line in host.lines(' WARNING ') if 'Placement' in line
        ]
        # Its text may change once: with the number of nodes.
        self.assertLessEqual(len(warned), 2, warned)
        self.deployment.wait_until(
            lambda: host.lines('Placement is updated again'), 'all clear'
        )

    def context(self, host: hosts.Host) -> set[str]:
        """Return the nodes that "check" reports as behind in Placement."""
        done = command_line.run(
            *('--config-file', str(host.config), 'check', '--long'),
            *('-f', 'json'),
        )
        found = json.loads(done.stdout)
        return {
            uuid
            for problem in found
            if problem['code'] == 'placement_behind'
            for uuid in problem['subjects']
        }

    def test_placement_that_never_answers_delays_no_claim(self) -> None:
        with proxy.Proxy(self.placement_server.port) as silent:
            silent.silence()
            first = self.enrolment.enrol(3)
            self.start(url=f'http://127.0.0.1:{silent.port}')
            self.deployment.wait_for_owners(dict.fromkeys(first, 'host1'))
            second = self.enrolment.enrol(3)
            self.deployment.wait_for_owners(
                dict.fromkeys([*first, *second], 'host1')
            )
            self.assertEqual(set(), self.reported())


class CapacityTest(_Reporting):
    """Two services that may reserve four nodes, two of which are free."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes = self.enrolment.enrol(4, instance_share=0.25)
        self.enrolment.set_maintenance(self.nodes[3], True)
        self.hosts = {
            name: self.start(name, 'reservation')
            for name in ('host1', 'host2')
        }
        for name in self.hosts:
            self.wait_for_capacity(name, (4, 2))

    def capacity(self, name: str) -> tuple[int, int] | None:
        answer = self.placement_server.send(
            'GET',
            '/resource_providers/'
            f'{inventory_diff.service_uuid(name)}/inventories',
        )
        if not answer.ok:
            return None
        found = answer.json()['inventories'].get(BARE_METAL)
        return None if found is None else (found['total'], found['reserved'])

    def wait_for_capacity(
        self, name: str, wanted: tuple[int, int] | None
    ) -> None:
        self.deployment.wait_until(
            lambda: self.capacity(name) == wanted, f'capacity {wanted}'
        )

    def test_each_service_reports_the_total_and_follows_it(self) -> None:
        self.assertEqual(
            set(map(inventory_diff.service_uuid, self.hosts)),
            self.placement_server.providers(),
        )
        self.enrolment.enrol(2)
        self.enrolment.set_maintenance(self.nodes[3], False)
        for name in self.hosts:
            self.wait_for_capacity(name, (6, 1))

    def test_provider_goes_with_its_service(self) -> None:
        self.assertEqual(0, self.hosts['host2'].terminate())
        self.deployment.wait_until(
            lambda: self.deployment.members() == {'host1'}, 'end of host2'
        )
        done = command_line.run(
            *('--config-file', str(self.hosts['host1'].config)),
            *('service', 'delete', 'host2', '--yes'),
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(
            {inventory_diff.service_uuid('host1')},
            self.placement_server.providers(),
        )


class NoReportTest(_Reporting):
    def test_nothing_is_reported_where_that_is_turned_off(self) -> None:
        nodes = self.enrolment.enrol(3)
        self.deployment.start(
            'host1',
            'all',
            placement={
                **self.placement_server.options(),
                'report_inventory': 'false',
            },
        )
        self.deployment.wait_for_owners(dict.fromkeys(nodes, 'host1'))
        self.deployment.wait_for_beats('host1', 3)
        self.assertEqual(set(), self.placement_server.providers())
        self.assertEqual(set(), self.reported())
