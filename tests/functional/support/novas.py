"""Real Novas for tests: one a process, with an Ironic of its own."""

from __future__ import annotations

import functools
import itertools
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import testtools
from testtools import content

from ironic_ownership.db import connection, schema
from ironic_ownership.db.records import SqlRecords
from lab import (
    ironic,
    ironic_cache,
    nova,
    nova_api,
    nova_config,
    nova_schema,
    process,
)
from lab.enrolment import Enrolment
from tests.functional.support import command_line, databases, hosts

_numbers = itertools.count(1)

GOLDEN = {
    '00000000-0000-0000-0000-000000000001': 'host2',
    '00000000-0000-0000-0000-000000000002': 'host2',
    '00000000-0000-0000-0000-000000000003': 'host2',
    '00000000-0000-0000-0000-000000000004': 'host1',
    '00000000-0000-0000-0000-000000000006': 'host1',
    '00000000-0000-0000-0000-000000000007': 'host2',
}
"""The ring of host1 and host2, as Nova computes it."""


@functools.cache
def cloud() -> nova.Nova:
    """Return the Nova of this test process.

    It starts when the first test asks for it and ends with the process.
    """
    server = databases.started(
        lambda path: ironic.Ironic(path, preloads=True), 'ironic'
    )
    cache = ironic_cache.IronicCache(server.port, server.database)
    cached = {'endpoint_override': f'http://127.0.0.1:{cache.port}'}
    options = {**nova_config.FAST, 'ironic': cached}

    def build(directory: pathlib.Path) -> nova.Nova:
        # Servers that run as other users have their files below it.
        directory.chmod(0o755)
        return nova.Nova(directory / 'nova', server, options, preloads=True)

    return databases.started(build, 'nova')


class NovaTestCase(testtools.TestCase):
    """Tests of one process share a real Nova, without nodes at first.

    The nova-computes of a test end with it; their services and compute nodes
    are then removed from the cell.
    """

    cloud: nova.Nova
    enrolment: Enrolment
    api: nova_api.NovaAPI
    records: SqlRecords
    own_config: pathlib.Path

    def setUp(self) -> None:
        super().setUp()
        self.cloud = cloud()
        self.enrolment = Enrolment(self.cloud.ironic)
        self.enrolment.clear()
        self.cloud.clear()
        self.computes: list[nova.Compute] = []
        self.addCleanup(self._end_computes)
        self.addOnException(self._attach_logs)

    def compute(
        self,
        host: str,
        driver: nova.Driver = 'stock',
        config: nova.Sections | None = None,
        program: pathlib.Path | None = None,
        executable: pathlib.Path | None = None,
    ) -> nova.Compute:
        """Return a nova-compute, which is not started."""
        made = self.cloud.compute(
            host, driver, config, program, executable=executable
        )
        self.computes.append(made)
        return made

    def enrol(
        self,
        uuids: Sequence[str],
        shards: Mapping[str, str] | None = None,
    ) -> None:
        made = self.enrolment.enrol(len(uuids))
        with self.cloud.ironic.sql() as database:
            for old, new in zip(made, uuids, strict=True):
                database.execute(
                    'UPDATE nodes SET uuid = ?, name = ?, shard = ? '
                    'WHERE uuid = ?',
                    (new, f'node-{new}', (shards or {}).get(new), old),
                )

    def boot(self, wanted: str | None = None) -> tuple[str, str]:
        """Boot a server through the API; return it and its node.

        :param wanted: the node; any free one by default.
        """
        self.cloud.map_hosts()
        self.api = self.cloud.start_api()
        process.wait_for(
            lambda: any(
                wanted in (None, node) and self._is_offered(node)
                for node in self.cloud.compute_nodes()
            ),
            'a node to boot from',
        )
        uuid = self.api.boot('server', wanted)
        self.api.wait_for_server(uuid, 'ACTIVE')
        [row] = [row for row in self.instances() if row['uuid'] == uuid]
        node = self.ironic_node(row['node'])
        self.assertEqual(
            (uuid, 'active'), (node['instance_uuid'], node['provision_state'])
        )
        return uuid, row['node']

    def _is_offered(self, node: str) -> bool:
        """Tell whether Placement knows what a compute node has."""
        if node not in self.cloud.placement.providers():
            return False
        path = f'/resource_providers/{node}/inventories'
        found = self.cloud.placement.request('GET', path)
        return bool(found['inventories'])

    def delete_server(self, uuid: str, node: str) -> None:
        """Delete a server through the API; nothing of it remains."""
        # Of a host that has just started, which does not report for the first
        # seconds, Nova would delete the server in its database alone.
        process.wait_for(lambda: self._is_up(uuid), f'service of {uuid}')
        self.api.delete(uuid)
        process.wait_for(lambda: self._is_free(node), f'end of {uuid}')
        found = self.cloud.placement.request('GET', f'/allocations/{uuid}')
        self.assertEqual({}, found['allocations'])
        self.assertEqual([], self.cloud.neighbours.unknown)

    def _is_up(self, server: str) -> bool:
        [host] = [r['host'] for r in self.instances() if r['uuid'] == server]
        path = f'/os-services?binary=nova-compute&host={host}'
        [service] = self.api.request('GET', path)['services']
        return bool(service['state'] == 'up')

    def _is_free(self, uuid: str) -> bool:
        node = self.ironic_node(uuid)
        return (
            node['provision_state'] == 'available'
            and node['instance_uuid'] is None
        )

    def instances(self) -> list[dict[str, Any]]:
        return self.cloud.rows(
            'uuid, node, host', 'instances WHERE deleted = 0'
        )

    def ironic_node(self, uuid: str) -> dict[str, Any]:
        return self.cloud.ironic.request('GET', f'/nodes/{uuid}')

    def config_of_records(self, **sections: object) -> nova.Sections:
        """Return nova.conf's section for the driver, with fresh records.

        :param sections: more options of ironic-ownership, by section.
        """
        url = self.cloud.database.create_database(f'own{next(_numbers)}')
        database = connection.open_database(url)
        self.addCleanup(database.close)
        schema.upgrade(database)
        self.records = SqlRecords(database)
        directory = databases.temporary_directory('nova-records')
        self.own_config = directory / 'ironic-ownership.conf'
        self.own_config.write_text(
            hosts.text_of(
                hosts.FAST,
                {
                    'database': {'connection': url},
                    'nova': {'cell_schema': nova_schema.CELL1},
                },
                sections,
            )
        )
        operator = directory / 'operator.conf'
        operator.write_text(
            hosts.text_of(
                {
                    # Its calls may take as long, on a busy machine.
                    'membership': {'heartbeat_interval': 3},
                    'nova': {'config_file': directory / 'nova.conf'},
                }
            )
        )
        self._files = directory / 'nova.conf', self.own_config, operator
        self.write_nova_conf({})
        return {'ironic_ownership': {'config_file': self.own_config}}

    def write_nova_conf(self, sections: nova.Sections) -> None:
        """Write the nova.conf of the machine where the commands run."""
        common = {
            'ironic': {
                'auth_type': 'none',
                'endpoint_override': self.cloud.ironic.endpoint,
            },
            'placement': self.cloud.placement.options(),
        }
        self._files[0].write_text(hosts.text_of(common, sections))

    def run_cli(self, *words: str) -> tuple[int, str]:
        files = [f'--config-file={path}' for path in self._files]
        done = command_line.run(*files, *words)
        return done.returncode, done.stderr + done.stdout

    def succeed(self, *words: str) -> str:
        status, text = self.run_cli(*words)
        self.assertEqual(0, status, text)
        return text

    def _end_computes(self) -> None:
        for compute in self.computes:
            compute.kill()

    def _attach_logs(self, error: object) -> None:
        for compute in self.computes:
            text = '\n'.join(compute.lines()[-60:])
            self.addDetail(
                f'{compute.log.parent.name}', content.text_content(text)
            )
