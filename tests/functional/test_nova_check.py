"""The doctor of a Nova cell, with an account that can only read.

A real MariaDB, Ironic and Placement, with planted faults. Others are planted
in ``tests/unit/nova_driver/test_doctor.py``.
"""

from __future__ import annotations

import contextlib
import json
import uuid as uuid_
from typing import Any

from lab import mariadb, placement
from tests.functional.support import (
    cells,
    command_line,
    databases,
    hosts,
    ironics,
    placements,
)

_GONE, _ODD, _OTHER = (
    f'{digit * 8}-0000-4000-8000-000000000000' for digit in 'abc'
)
_SERVICES = 'host1', 'host2'
_CLOUD = """\
clouds:
  lab:
    auth_type: admin_token
    auth:
      endpoint: {ironic}
      token: {token}
    baremetal_endpoint_override: {ironic}
    placement_endpoint_override: {placement}
"""


class DoctorTest(placements.PlacementTestCase, ironics.IronicTestCase):
    """Two services on a ring, each with the nodes that the ring gives it."""

    def setUp(self) -> None:
        super().setUp()
        self.url = self.make_account()
        self.cell.add_services(*_SERVICES)
        # Up for as long as the test takes.
        self.write('services', "last_seen_up = '2099-01-01'", 'TRUE')
        self.directory = databases.temporary_directory('doctor')
        (self.directory / 'clouds.yaml').write_text(
            _CLOUD.format(
                ironic=self.endpoint,
                placement=self.placement_server.endpoint,
                token=placement.TOKEN,
            )
        )
        self.env = {
            'OS_CLIENT_CONFIG_FILE': str(self.directory / 'clouds.yaml')
        }

    def make_account(self) -> str:
        """Make a cell; return its URL for a user that may read three tables.

        The server is one of this test, because it checks permissions.
        """
        server = mariadb.MariaDB(databases.temporary_directory('doctor-db'))
        server.start()
        self.addCleanup(server.stop)
        self.cell = cells.NovaCell(server)
        with contextlib.closing(server._connect()) as opened:
            cursor = opened.cursor()
            # From here on permissions are checked.
            cursor.execute('FLUSH PRIVILEGES')
            for account in ("'root'@'127.0.0.1'", "'reader'@'%'"):
                cursor.execute(f'CREATE OR REPLACE USER {account}')
            cursor.execute(
                "GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION"
            )
            for table in cells.TABLES:
                cursor.execute(
                    f'GRANT SELECT ON {self.cell.schema}.{table} TO '
                    "'reader'@'%'"
                )
        return server.url(self.cell.schema).replace('root@', 'reader@')

    def run_check(self, *words: str) -> tuple[int, str, str]:
        """Run the command without a configuration file or a database."""
        done = command_line.run(
            *('nova', 'check', '--cell', self.url, *words),
            env={**self.env, 'HOME': str(self.directory)},
        )
        return done.returncode, done.stdout, done.stderr

    def found(self) -> dict[str, dict[str, Any]]:
        code, out, err = self.run_check('--cloud', 'lab', '-f', 'json')
        self.assertIn(code, (0, 4), err)
        rows = json.loads(out)
        self.assertEqual(4 if rows else 0, code, err)
        found: dict[str, dict[str, Any]] = {}
        for row in rows:
            known = found.setdefault(row['code'], row)
            if known is not row:
                known['subjects'] += row['subjects']
        return found

    def provide(self, *uuids: str) -> None:
        self.placement_server.provide(*uuids)

    def write(self, table: str, values: str, where: str) -> None:
        self.cell.query(
            f'UPDATE {self.cell.schema}.{table} SET {values} WHERE {where}'
        )

    def enrol(self, shard: str, count: int, host: str = '') -> list[str]:
        """Enrol nodes of a shard; with a host they have rows and providers."""
        nodes = sorted(self.enrolment.enrol(count, shard=shard))
        if host:
            self.cell.add_nodes(host, nodes)
            self.provide(*nodes)
        return nodes

    def deploy(self, host: str, *nodes: str) -> None:
        """Add an instance of this host on each, in the cell and in Ironic."""
        on = {node: str(uuid_.uuid4()) for node in nodes}
        self.cell.add_instances(host, on)
        for node, instance in on.items():
            self.enrolment.set_instance(node, instance)

    def test_each_fault_is_found_and_nothing_is_written(self) -> None:
        self.enrol('s1', 6, 'host1')
        nodes = self.enrol('s2', 20, 'host2')
        self.deploy('host2', *nodes[:4])
        self.assertEqual({}, self.found())
        code, out, err = self.run_check('--cloud', 'lab')
        self.assertEqual((0, 'No problems found\n'), (code, out))
        for line in (
            '2 services, 26 rows',
            'Ironic: 26 nodes',
            '26 providers',
        ):
            self.assertIn(line, err)
        wanted = self.plant(nodes[2], *nodes[4:8])
        wanted['deployed_out_of_scope'] = self.enrol('s2', 1, 'host1')
        self.deploy('host1', *wanted['deployed_out_of_scope'])
        before = self.contents()
        found = self.found()
        self.assertEqual(
            {code: sorted(of) for code, of in sorted(wanted.items())},
            {c: sorted(found[c]['subjects']) for c in sorted(found)},
        )
        for row in found.values():
            for key in ('hint', 'nova', 'repair'):
                self.assertTrue(row[key], row)
        report = self.directory / 'report.md'
        code, out, _ = self.run_check(
            *('--cloud', 'lab', '--report', str(report), '--max-width', '100')
        )
        self.assertEqual(4, code)
        text = report.read_text()
        for code in wanted:
            self.assertIn(code, out)
            self.assertIn(f'## `{code}`: ', text)
        self.assertEqual(before, self.contents())

    def plant(
        self,
        half_moved: str,
        unknown: str,
        two_rows: str,
        missing: str,
        other_uuid: str,
    ) -> dict[str, list[str]]:
        """Plant faults that show in the cell, in Ironic and in Placement."""
        self.write('instances', "host = 'host1'", f"node = '{half_moved}'")
        self.enrolment.set_instance(unknown, str(uuid_.uuid4()))
        self.cell.add_nodes('host1', [_ODD])
        self.write(
            'compute_nodes',
            f"hypervisor_hostname = '{two_rows}'",
            f"uuid = '{_ODD}'",
        )
        (unserved,) = self.enrol('s9', 1)
        self.provide(_GONE)
        send = self.placement_server.request
        for node in (missing, other_uuid):
            send('DELETE', f'/resource_providers/{node}')
        send(
            'POST',
            '/resource_providers',
            json={'uuid': _OTHER, 'name': other_uuid},
        )
        return {
            'half_moved': [half_moved],
            'instance_unknown': [unknown],
            'duplicate_rows': [two_rows],
            'node_unserved': [unserved],
            'provider_orphaned': [_GONE],
            'provider_missing': [missing],
            'provider_uuid_differs': [other_uuid],
        }

    def contents(self) -> list[Any]:
        """Return all that a check could have written."""
        return [
            self.cell.query(f'CHECKSUM TABLE {self.cell.schema}.{table}')
            for table in cells.TABLES
        ] + [sorted(self.placement_server.providers())]

    def test_without_a_cloud_the_rest_is_named_or_of_a_nova_conf(self) -> None:
        self.enrol('s1', 1, 'host1')
        code, out, err = self.run_check()
        self.assertEqual(
            (4, 'No problems found in what was read\n'), (code, out)
        )
        for words in ('Ironic was not', 'Placement was not', '--cloud'):
            self.assertIn(words, err)
        path = self.directory / 'nova.conf'
        path.write_text(
            hosts.text_of(
                {
                    'ironic': {
                        'auth_type': 'none',
                        'endpoint_override': self.endpoint,
                    },
                    'placement': self.placement_server.options(),
                }
            )
        )
        done = command_line.run(
            *('--config-file', str(path), 'nova', 'check', '--cell', self.url)
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('Placement: 1 provider', done.stderr)

    def test_cell_that_cannot_be_read_is_one_line(self) -> None:
        wrong = self.url.replace('reader', 'unknown')
        nova_conf = self.directory / 'nova.conf'
        nova_conf.write_text('[database]\nmax_retries = 1\n')
        for place, words in (
            (wrong, 'denied'),
            ('nowhere', '--cell nowhere'),
            (str(nova_conf), 'no [database] connection'),
            ('mysql://host/nova', '--cell'),
        ):
            done = command_line.run('nova', 'check', '--cell', place)
            self.assertEqual((1, ''), (done.returncode, done.stdout))
            self.assertIn(words, done.stderr)
            self.assertNotIn('Traceback', done.stderr)
            self.assertNotIn('correct [database]', done.stderr)
            self.assertNotIn('[database] connection is', done.stderr)
        nova_conf.write_text(f'[database]\nconnection = {self.url}\n')
        self.url = str(nova_conf)
        self.assertIn('2 services', self.run_check()[2])
