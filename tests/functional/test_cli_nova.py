"""Coming from Nova by the command line: check, adopt, move, delete.

A real Ironic and MariaDB; the rows of the cell are as stock Nova leaves them.
"""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from ironic_ownership.db.records import SqlRecords
from ironic_ownership_nova.cell import companion
from tests.functional.support import cells, command_line, databases, ironics


class NovaCommandsTest(ironics.IronicTestCase):
    """``stock`` has four nodes in the cell, two with an instance."""

    def setUp(self) -> None:
        super().setUp()
        self.cell = cells.NovaCell(databases.MARIADB.server)
        self.cell.add_services('stock', 'new')
        self.nodes = sorted(self.enrolment.enrol(4, instance_share=0.5))
        self.cell.add_nodes('stock', self.nodes)
        bare_metal = ironics.open_ironic(self.server.endpoint)
        found = [bare_metal.get(uuid) for uuid in self.nodes]
        self.instances = {
            node.uuid: node.instance_uuid
            for node in found
            if node and node.instance_uuid
        }
        self.assertEqual(2, len(self.instances))
        self.cell.add_instances('stock', self.instances)
        self.lab = command_line.Deployment(
            self.server.endpoint, databases.MARIADB.fresh()
        )
        self.addCleanup(self.lab.close)
        self.lab.records = SqlRecords(
            self.lab._database, companion.Cell(self.cell.schema)
        )
        self.lab.config = self.lab.configure(
            more=f'[nova]\ncell_schema = {self.cell.schema}\n'
        )

    def run_json(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        done = self.lab.run(*words, '-f', 'json')
        self.assertEqual(code, done.returncode, done.stderr)
        self.stderr = done.stderr
        rows = json.loads(done.stdout)
        return list(rows)

    def test_from_stock_nova_to_a_move_and_a_deletion(self) -> None:
        config = self.lab.configure('without')
        done = self.lab.run('nova', 'check', config=config)
        self.assertEqual(1, done.returncode)
        self.assertIn('[nova] cell_schema', done.stderr)
        self.assertEqual([], self.run_json('nova', 'check'))
        done = self.lab.run('nova', 'check')
        self.assertEqual(
            (0, 'No problems found\n'), (done.returncode, done.stdout)
        )
        proposed = self.run_json('nova', 'adopt', '--dry-run')
        self.assertEqual(
            [(uuid, 'stock', 'adopted') for uuid in self.nodes],
            sorted((r['uuid'], r['service'], r['state']) for r in proposed),
        )
        self.assertEqual([], list(self.lab.records.compute_nodes()))
        self.run_json('nova', 'adopt', '--yes')
        self.assertEqual({'stock': (4, 2)}, self.lab.records.counts())
        self.assertEqual([], self.run_json('nova', 'adopt', '--yes'))
        done = self.lab.run('nova', 'adopt', '--yes')
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('No node has to be adopted', done.stdout)
        unchanged = self.run_json('nova', 'adopt', '--yes', '--all')
        self.assertEqual({'unchanged'}, {row['state'] for row in unchanged})
        # An operator stops the service of stock Nova, and moves its nodes.
        self.lab.serve('new', command_line.ALL)
        done = self.lab.run('service', 'set', 'stock', '--down', '--yes')
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(
            [(1,)],
            self.cell.query(
                f'SELECT forced_down FROM {self.cell.schema}.services '
                "WHERE host = 'stock'"
            ),
        )
        moved = self.run_json('service', 'drain', 'stock', '--yes')
        self.assertEqual(['moved'] * 4, [row['state'] for row in moved])
        self.assertEqual(dict.fromkeys(self.nodes, 'new'), self.cell.owners())
        self.assertEqual(
            dict.fromkeys(self.instances, 'new'),
            self.cell.hosts_of_instances(),
        )
        self.assertEqual([], self.run_json('nova', 'check'))
        done = self.lab.run('service', 'delete', 'stock', '--yes')
        self.assertEqual(0, done.returncode, done.stderr)

    def move(self, node: str, *words: str) -> dict[str, dict[str, str]]:
        """Move a node to ``new``; return the gates that refuse it."""
        done = self.lab.run(
            *('compute', 'node', 'move', node, '--service', 'new', '--yes'),
            *words,
        )
        # 4: it names what still differs from Ironic.
        if done.returncode == (4 if words else 0):
            return {}
        self.assertEqual(3, done.returncode, done.stderr)
        (row,) = self.run_json(
            *('compute', 'node', 'move', node, '--service', 'new'),
            '--dry-run',
            code=3,
        )
        return {
            gate['gate']: gate
            for gate in row['gates']
            if gate['result'] == 'failed'
        }

    def on_record(self, node: str) -> tuple[str | None, str | None]:
        (found,) = self.lab.records.compute_nodes_by_uuid([node])
        return found.host, found.instance_uuid

    def test_hints_of_a_move_are_carried_out(self) -> None:
        self.run_json('nova', 'adopt', '--yes')
        self.lab.serve('new', command_line.ALL)
        booted, building = sorted(set(self.nodes) - set(self.instances))
        instances = {node: str(uuid.uuid4()) for node in (booted, building)}
        # The service died before it could record them, and before Ironic had
        # one of them.
        self.cell.add_instances('stock', instances)
        self.enrolment.set_instance(booted, instances[booted])
        self.lab.run('service', 'set', 'stock', '--down', '--yes')
        self.assertEqual({}, self.move(booted))
        self.assertEqual(('new', instances[booted]), self.on_record(booted))
        (refusal,) = self.move(building).values()
        self.assertEqual('instance_agrees', refusal['gate'])
        self.assertIn('the cell has', refusal['detail'])
        self.assertIn(
            '--override instance_agrees --reason TEXT', refusal['hint']
        )
        override = '--override', 'instance_agrees', '--reason', 'TEXT'
        self.assertEqual({}, self.move(building, *override))
        deployed = min(self.instances)
        self.cell.query(
            f'UPDATE {self.cell.schema}.compute_nodes SET hypervisor_type = '
            f"'QEMU' WHERE uuid = '{deployed}'"
        )
        (refusal,) = self.move(deployed).values()
        self.assertEqual('is_ironic', refusal['gate'])
        self.assertEqual('stock', self.on_record(deployed)[0])
        self.assertEqual('stock', self.cell.hosts_of_instances()[deployed])
        self.carry_out_statement(refusal['hint'])
        self.assertEqual({}, self.move(deployed))
        for node in (booted, building, deployed):
            self.assertEqual('new', self.cell.owners()[node])
            self.assertEqual('new', self.cell.hosts_of_instances()[node])

    def drift(self) -> dict[str, dict[str, Any]]:
        done = self.lab.run('check', '-f', 'json', '--long')
        self.assertIn(done.returncode, (0, 4), done.stderr)
        return {
            found['code']: found
            for found in json.loads(done.stdout)
            if found['code'].startswith('row_drifted')
        }

    def test_drift_is_found_by_check_and_its_hint_resolves_it(self) -> None:
        self.run_json('nova', 'adopt', '--yes')
        for host in ('stock', 'new'):
            self.lab.serve(host, command_line.ALL)
        self.assertEqual({}, self.drift())
        # As "nova-manage db ironic_compute_node_move" does.
        node = min(self.instances)
        for table, column in (
            ('compute_nodes', 'uuid'),
            ('instances', 'node'),
        ):
            self.cell.query(
                f"UPDATE {self.cell.schema}.{table} SET host = 'new' "
                f"WHERE {column} = '{node}'"
            )
        found = self.drift()['row_drifted_deployed']
        self.assertEqual([node], found['subjects'])
        commands = re.findall(r'ironic-ownership ([^;)]+)', found['hint'])
        self.assertEqual(3, len(commands), found['hint'])
        for command in commands:
            words = command.replace('UUID', node).split()
            done = self.lab.run(*words, '--yes')
            self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual({}, self.drift())
        self.assertEqual('new', self.cell.hosts_of_instances()[node])
        owners = {n.uuid: n.host for n in self.lab.records.compute_nodes()}
        self.assertEqual('new', owners[node])

    def strays(self) -> list[dict[str, Any]]:
        done = self.lab.run('check', '-f', 'json', '--long')
        found = [
            one
            for one in json.loads(done.stdout)
            if one['code'] == 'uuid_differs'
        ]
        checked = self.run_json('nova', 'check', code=4 if found else 0)
        self.assertEqual(
            [one['hint'] for one in found], [one['hint'] for one in checked]
        )
        return found

    def test_rows_of_a_service_that_is_gone_are_deleted_as_their_hint_says(
        self,
    ) -> None:
        free = sorted(set(self.nodes) - set(self.instances))[:2]
        rows = f'{self.cell.schema}.compute_nodes'
        for node, host in zip(free, ("'gone'", 'NULL'), strict=True):
            self.cell.query(
                f"UPDATE {rows} SET host = {host} WHERE uuid = '{node}'"
            )
        found = {
            one['subjects'][0]: one['hint']
            for one in self.run_json('nova', 'check', code=4)
            if one['code'] == 'no_service'
        }
        self.assertEqual({*free}, {*found})
        for node, hint in found.items():
            self.carry_out_statement(hint.replace('UUID', node))
        self.assertEqual([], self.run_json('nova', 'check'))

    def carry_out_statement(self, hint: str) -> None:
        """Carry out the statement of a hint in the database of the cell."""
        [statement] = re.findall('UPDATE compute_nodes [^,;]+', hint)
        self.cell.query(
            statement.replace(
                'compute_nodes', f'{self.cell.schema}.compute_nodes'
            )
        )

    def test_row_with_another_uuid_is_found_and_its_hint_resolves_it(
        self,
    ) -> None:
        node = min(set(self.nodes) - set(self.instances))
        odd = 'ffffffff-0000-4000-8000-000000000000'
        rows = f'{self.cell.schema}.compute_nodes'
        self.cell.query(
            f"UPDATE {rows} SET uuid = '{odd}' WHERE uuid = '{node}'"
        )
        (found,) = self.strays()
        self.assertEqual([node], found['subjects'])
        self.assertIn(f"uuid = '{odd}'", found['hint'])
        refused = self.run_json('nova', 'adopt', '--yes', code=3)
        self.assertIn('refused', {row['state'] for row in refused})
        self.carry_out_statement(found['hint'])
        self.assertEqual([], self.strays())
        (adopted,) = self.run_json('nova', 'adopt', '--yes')
        self.assertEqual(
            (node, 'adopted'), (adopted['uuid'], adopted['state'])
        )
        # Of another host, to which the node has never moved in Nova.
        self.cell.add_nodes('new', [odd])
        self.cell.query(
            f"UPDATE {rows} SET hypervisor_hostname = '{node}' "
            f"WHERE uuid = '{odd}'"
        )
        (found,) = self.strays()
        self.assertIn(f'provider delete {odd}', found['hint'])
        self.carry_out_statement(found['hint'])
        self.assertEqual([], self.strays())
        self.assertEqual('stock', self.cell.owners()[node])
