"""Laws over a cell whose nova-computes have the driver of this project.

One deployment for all of it, because its start takes longer than each part.
"""

from __future__ import annotations

import pathlib

import fixtures

from benchmarks.nova import recorder
from lab import process
from tests.functional.support import cell_laws, databases, novas


class TestOurNova(novas.NovaTestCase):
    """Two services on the nodes of the golden vectors."""

    def test_laws_of_a_ring(self) -> None:
        self.start_alone()
        self.pass_over_unchanged_nodes_asks_placement_nothing()
        self.node_out_of_service_is_reserved_until_it_is_back()
        self.share_with_a_second_service()
        self.uuid, self.node = self.boot()
        self.observer = cell_laws.CellObserver(self.cloud).start()
        self.addCleanup(self.observer.stop)
        source = novas.GOLDEN[self.node]
        [target] = set(self.services) - {source}
        self.killed_service_loses_its_free_nodes_only(target)
        self.observer.returned(target)
        self.services[target].start()
        self.cloud.wait_for_hosts(novas.GOLDEN)
        process.wait_for(
            lambda: self.recorded() == {self.uuid: source}, 'record'
        )
        self.killed_service_loses_its_free_nodes_only(source)
        self.moved_server_is_served_by_its_new_service(source, target)
        self.observer.stop()
        self.assertGreater(self.observer.count, 0)
        self.assertEqual({}, self.observer.violations)
        self.assertEqual(set(novas.GOLDEN), self.cloud.placement.providers())

    def start_alone(self) -> None:
        """Start host1, whose passes are recorded, without a peer."""
        self.enrol(list(novas.GOLDEN))
        config = self.config_of_records(
            ownership={'policies': 'peer_list', 'recovery_delay': 1}
        )
        self.passes = databases.temporary_directory('passes') / 'passes'
        self.useFixture(
            fixtures.EnvironmentVariable('PASSES', str(self.passes))
        )
        self.services = {
            'host1': self.compute(
                'host1', 'ours', config, pathlib.Path(recorder.__file__)
            ),
            'host2': self.compute('host2', 'ours', config),
        }
        self.services['host1'].start()
        self.cloud.wait_for_hosts(dict.fromkeys(novas.GOLDEN, 'host1'))

    def pass_over_unchanged_nodes_asks_placement_nothing(self) -> None:
        # The first passes report the nodes, and confirm the reports.
        process.wait_for(
            lambda: self.requests_until_next_end() == 0,
            'pass without a request',
        )
        self.assertEqual(0, self.requests_until_next_end())
        self.assertEqual(set(novas.GOLDEN), self.cloud.placement.providers())

    def node_out_of_service_is_reserved_until_it_is_back(self) -> None:
        node = min(novas.GOLDEN)
        for driver, reserved in (('ipmi', 1), ('fake-hardware', 0)):
            with self.cloud.ironic.sql() as database:
                database.execute(
                    'UPDATE nodes SET driver = ?, updated_at = '
                    "strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE uuid = ?",
                    (driver, node),
                )
            process.wait_for(
                lambda wanted=reserved: self.reserved(node) == wanted,
                f'inventory with {reserved} reserved',
            )

    def reserved(self, node: str) -> int:
        path = f'/resource_providers/{node}/inventories'
        found = self.cloud.placement.request('GET', path)['inventories']
        [inventory] = found.values()
        return int(inventory['reserved'])

    def requests_until_next_end(self) -> int:
        before, ended = self.cloud.placement.count_requests(), self.ends()
        self.services['host1'].process.wait_until(
            lambda: self.ends() > ended, 'end of a pass', timeout=180
        )
        return self.cloud.placement.count_requests() - before

    def ends(self) -> int:
        return self.passes.read_text().count('"end"')

    def share_with_a_second_service(self) -> None:
        self.services['host2'].start()
        self.cloud.wait_for_hosts(novas.GOLDEN)
        owners = {row.uuid: row.host for row in self.records.compute_nodes()}
        self.assertEqual(novas.GOLDEN, owners)
        self.assertEqual(set(novas.GOLDEN), self.cloud.placement.providers())

    def wait_until_served(self) -> None:
        process.wait_for(lambda: not self.observer.unserved(), 'live owners')

    def killed_service_loses_its_free_nodes_only(self, host: str) -> None:
        self.observer.died(host)
        self.services[host].kill()
        self.wait_until_served()
        self.assertEqual(
            novas.GOLDEN[self.node], self.cloud.compute_nodes()[self.node]
        )

    def moved_server_is_served_by_its_new_service(
        self, source: str, target: str
    ) -> None:
        uuid, node = self.uuid, self.node
        self.succeed('service', 'set', source, '--down', '--yes')
        self.observer.expect([node])
        self.succeed(
            *('compute', 'node', 'move', node, '--service', target),
            *('--yes', '--reason', 'test'),
        )
        [row] = self.instances()
        self.assertEqual((node, target), (row['node'], row['host']))
        self.assertEqual({uuid: target}, self.recorded())
        self.assertEqual(target, self.cloud.compute_nodes()[node])
        self.assertEqual([node], self.allocated(uuid))
        self.api.reboot(uuid)
        self.api.wait_for_server(uuid, 'ACTIVE')
        # The service that did it writes its name into the action.
        self.assertEqual(
            [target], self.hosts_of_event(uuid, 'compute_reboot_instance')
        )
        self.assertEqual('power on', self.ironic_node(node)['power_state'])
        self.delete_server(uuid, node)
        self.assertEqual([], self.instances())
        process.wait_for(lambda: self.recorded() == {}, 'end of the record')
        self.wait_until_served()
        self.assertEqual(
            dict.fromkeys(novas.GOLDEN, target), self.cloud.compute_nodes()
        )

    def recorded(self) -> dict[str, str]:
        """Return the service of each open instance on record."""
        return {
            row.instance_uuid: row.host
            for row in self.records.compute_nodes()
            if row.instance_uuid
        }

    def allocated(self, uuid: str) -> list[str]:
        """Return the nodes that Placement allocates to a server."""
        found = self.cloud.placement.request('GET', f'/allocations/{uuid}')
        return list(found['allocations'])

    def hosts_of_event(self, uuid: str, name: str) -> list[str]:
        """Return where an action of a server was executed."""
        rows = self.cloud.rows(
            'e.host AS host',
            'instance_actions_events AS e '
            f'JOIN {novas.nova_schema.CELL1}.instance_actions AS a '
            'ON a.id = e.action_id '
            f"WHERE a.instance_uuid = '{uuid}' AND e.event = '{name}' "
            "AND e.result = 'Success'",
        )
        return [row['host'] for row in rows]
