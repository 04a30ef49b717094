"""Coming from Nova by the command line: adoption, and what hints advise.

A real Ironic and MariaDB; the rows of the cell are as stock Nova leaves them.
``test_nova_runbooks.py`` has the whole way, with a real Nova.
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
        self.free = sorted(set(self.nodes) - set(self.instances))
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
        rows = json.loads(done.stdout)
        return list(rows)

    def do(self, *words: str) -> str:
        done = self.lab.run(*words, '--yes')
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def write(self, values: str, uuid: str, table: str = '') -> None:
        """Write columns of a row in the cell."""
        self.cell.query(
            f'UPDATE {self.cell.schema}.{table or "compute_nodes"} '
            f"SET {values} WHERE {'node' if table else 'uuid'} = '{uuid}'"
        )

    def carry_out_statement(self, hint: str) -> None:
        """Carry out the statement of a hint in the database of the cell."""
        [statement] = re.findall('UPDATE compute_nodes [^,;]+', hint)
        self.cell.query(
            statement.replace(
                'compute_nodes', f'{self.cell.schema}.compute_nodes'
            )
        )

    def test_adoption_is_proposed_and_can_be_repeated(self) -> None:
        config = self.lab.configure('without')
        done = self.lab.run('nova', 'check', config=config)
        self.assertEqual(1, done.returncode)
        self.assertIn('[nova] cell_schema', done.stderr)
        self.assertEqual([], self.run_json('nova', 'check'))
        proposed = self.run_json('nova', 'adopt', '--dry-run')
        self.assertEqual(
            [(uuid, 'stock', 'adopted') for uuid in self.nodes],
            sorted((r['uuid'], r['service'], r['state']) for r in proposed),
        )
        self.assertEqual([], list(self.lab.records.compute_nodes()))
        self.do('nova', 'adopt')
        self.assertEqual({'stock': (4, 2)}, self.lab.records.counts())
        self.assertIn('No node has to be adopted', self.do('nova', 'adopt'))
        unchanged = self.run_json('nova', 'adopt', '--yes', '--all')
        self.assertEqual({'unchanged'}, {row['state'] for row in unchanged})

    def refusal(self, node: str) -> dict[str, str]:
        """Return the one gate that refuses the move of a node to ``new``."""
        (row,) = self.run_json(
            *('compute', 'node', 'move', node, '--service', 'new'),
            '--dry-run',
            code=3,
        )
        (gate,) = (g for g in row['gates'] if g['result'] == 'failed')
        return dict(gate)

    def test_hints_of_a_move_are_carried_out(self) -> None:
        self.do('nova', 'adopt')
        self.lab.serve('new', command_line.ALL)
        # The service died before it recorded it, and before Ironic had it.
        building, deployed = self.free[0], min(self.instances)
        self.cell.add_instances('stock', {building: str(uuid.uuid4())})
        self.do('service', 'set', 'stock', '--down')
        refusal = self.refusal(building)
        self.assertEqual('instance_agrees', refusal['gate'])
        self.assertIn('the cell has', refusal['detail'])
        override = '--override instance_agrees --reason TEXT'
        self.assertIn(override, refusal['hint'])
        move = ('compute', 'node', 'move', '--service', 'new', '--yes')
        done = self.lab.run(*move, building, *override.split())
        # It names what still differs from Ironic.
        self.assertEqual(4, done.returncode, done.stderr)
        self.write("hypervisor_type = 'QEMU'", deployed)
        refusal = self.refusal(deployed)
        self.assertEqual('is_ironic', refusal['gate'])
        self.carry_out_statement(refusal['hint'])
        moved = self.run_json('service', 'drain', 'stock', '--yes')
        self.assertEqual(['moved'] * 3, [row['state'] for row in moved])
        self.assertEqual(dict.fromkeys(self.nodes, 'new'), self.cell.owners())
        self.assertEqual({'new'}, {*self.cell.hosts_of_instances().values()})
        self.assertEqual([], self.run_json('nova', 'check'))
        self.do('service', 'delete', 'stock')

    def drift(self) -> dict[str, dict[str, Any]]:
        done = self.lab.run('check', '-f', 'json', '--long')
        self.assertIn(done.returncode, (0, 4), done.stderr)
        return {
            found['code']: found
            for found in json.loads(done.stdout)
            if found['code'].startswith('row_drifted')
        }

    def test_drift_is_found_by_check_and_its_hint_resolves_it(self) -> None:
        self.do('nova', 'adopt')
        for host in ('stock', 'new'):
            self.lab.serve(host, command_line.ALL)
        self.assertEqual({}, self.drift())
        # As "nova-manage db ironic_compute_node_move" does.
        node = min(self.instances)
        for table in ('', 'instances'):
            self.write("host = 'new'", node, table)
        found = self.drift()['row_drifted_deployed']
        self.assertEqual([node], found['subjects'])
        commands = re.findall(r'ironic-ownership ([^;)]+)', found['hint'])
        self.assertEqual(3, len(commands), found['hint'])
        for command in commands:
            self.do(*command.replace('UUID', node).split())
        self.assertEqual({}, self.drift())
        self.assertEqual('new', self.cell.hosts_of_instances()[node])
        owners = {n.uuid: n.host for n in self.lab.records.compute_nodes()}
        self.assertEqual('new', owners[node])

    def test_hints_of_rows_that_stop_an_adoption_are_carried_out(self) -> None:
        for node, host in zip(self.free, ("'gone'", 'NULL'), strict=True):
            self.write(f'host = {host}', node)
        found = {
            one['subjects'][0]: one['hint']
            for one in self.run_json('nova', 'check', code=4)
            if one['code'] == 'no_service'
        }
        self.assertEqual({*self.free}, {*found})
        for node, hint in found.items():
            self.carry_out_statement(hint.replace('UUID', node))
        self.assertEqual([], self.run_json('nova', 'check'))
        node, odd = min(self.instances), 'ffffffff-0000-4000-8000-000000000000'
        self.write(f"uuid = '{odd}'", node)
        self.assertIn(f"uuid = '{odd}'", self.carry_out_stray(node))
        (adopted, _) = self.run_json('nova', 'adopt', '--yes')
        self.assertEqual('adopted', adopted['state'])
        # Of another host, to which the node has never moved in Nova.
        self.cell.add_nodes('new', [odd])
        self.write(f"hypervisor_hostname = '{node}'", odd)
        self.assertIn(f'provider delete {odd}', self.carry_out_stray(node))
        self.assertEqual('stock', self.cell.owners()[node])

    def carry_out_stray(self, node: str) -> str:
        """Resolve a row with another uuid by its hint, and return that."""
        hint, again = (
            one['hint']
            for words in (('nova', 'check'), ('check', '--long'))
            for one in self.run_json(*words, code=4)
            if one['code'] == 'uuid_differs' and one['subjects'] == [node]
        )
        self.assertEqual(hint, again)
        self.carry_out_statement(hint)
        self.assertEqual([], self.run_json('nova', 'check'))
        return str(hint)
