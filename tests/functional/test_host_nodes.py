"""One host and nodes that go, come back, get instances or are odd."""

from __future__ import annotations

import json

from ironic_ownership.contracts.events import EventKind
from tests.functional.support import hosts, member_expiry


class TestNodes(hosts.HostsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.host = self.deployment.start('host1', 'all')

    def enrol(self, count: int, prefix: str, **options: object) -> list[str]:
        """Add nodes whose uuids are the same each time."""
        uuids = self.enrolment.enrol(
            count, prefix=prefix, same_every_time=True, **options
        )
        self.deployment.wait_until(
            lambda: self.deployment.owned_by('host1') >= set(uuids), 'claims'
        )
        return uuids

    def set_column(self, uuid: str, column: str, value: object) -> None:
        """Change a node behind the back of Ironic's API."""
        with self.server.sql() as database:
            database.execute(
                f'UPDATE nodes SET {column} = ? WHERE uuid = ?', (value, uuid)
            )

    def created_at(self, uuid: str) -> float:
        with self.deployment.database.engine.connect() as conn:
            return conn.exec_driver_sql(
                'SELECT created_at FROM compute_nodes WHERE uuid = ?', (uuid,)
            ).scalar_one()

    def story(self, uuid: str) -> list[tuple[str, str | None]]:
        return [
            (event.kind, event.instance_uuid)
            for event in self.deployment.events()
            if event.node_uuid == uuid
        ]

    def test_mass_loss_changes_nothing_and_is_reported_once(self) -> None:
        uuids = self.enrol(10, 'mass')
        before = self.deployment.owners(), self.deployment.events()
        with self.server.sql() as database:
            for uuid in uuids[:6]:
                database.execute('DELETE FROM nodes WHERE uuid = ?', (uuid,))
        self.deployment.wait_until(
            lambda: self.host.lines('are missing from Ironic'),
            'report of the loss',
        )
        # As many heartbeats as there are in several refreshes.
        self.deployment.wait_for_beats('host1', 4)
        self.assertEqual(
            before, (self.deployment.owners(), self.deployment.events())
        )
        self.assertEqual(1, len(self.host.lines('missing from Ironic')))
        self.enrolment.clear()
        self.enrol(10, 'mass')
        self.deployment.wait_until(
            lambda: self.host.lines('mass loss is over'), 'all clear'
        )
        self.assertEqual(
            before, (self.deployment.owners(), self.deployment.events())
        )

    def test_deleted_node_is_forgotten_and_revived_as_it_was(self) -> None:
        self.enrol(4, 'others')
        (uuid,) = self.enrol(1, 'single')
        created = self.created_at(uuid)
        self.enrolment.delete(uuid)
        self.deployment.wait_until(
            lambda: uuid not in self.deployment.owners(), 'oblivion'
        )
        self.assertEqual(4, len(self.deployment.owners()))
        self.enrol(1, 'single')
        self.assertEqual(created, self.created_at(uuid))
        self.assertEqual(
            [
                EventKind.OWNER_CHANGED,
                EventKind.NODE_FORGOTTEN,
                EventKind.OWNER_CHANGED,
            ],
            [kind for kind, _ in self.story(uuid)],
        )

    def instances(self) -> dict[str, str | None]:
        nodes = self.deployment.records.compute_nodes()
        return {node.uuid: node.instance_uuid for node in nodes}

    def test_odd_nodes_do_not_stop_the_others(self) -> None:
        odd = (
            ('properties', '{}'),
            ('properties', None),
            ('properties', 'null'),
            ('properties', json.dumps({'cpus': 'many', 'memory_mb': None})),
            ('properties', json.dumps({'': {'a': [1, {}]}, 'x': 'y' * 9999})),
            ('name', None),
            ('resource_class', None),
            ('power_state', None),
            ('provision_state', None),
            ('provision_state', 'no such state'),
            ('driver', 'no-such-driver'),
            ('maintenance', 1),
            ('instance_uuid', 'not a uuid'),
        )
        self.deployment.wait_for_members('host1')
        self.host.kill()
        member_expiry.bury(self.deployment, 'host1')
        uuids = self.enrolment.enrol(len(odd) + 2)
        for uuid, (column, value) in zip(uuids[1:], odd, strict=False):
            self.set_column(uuid, column, value)
        self.host = self.deployment.start('host1', 'all')
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        self.assertEqual([], self.host.lines('refresh failed'))
