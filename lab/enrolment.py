"""Thousands of nodes for a real Ironic, and the changes of operators.

One node goes through Ironic's API until it is available and powered off. The
others are copies of its row, written into Ironic's database: a second where
the API would need an hour. What changes a node later goes through the API,
except where that needs a conductor of the node's group: the lab runs only one
conductor, of the default group, and then writes the row as it would. For the
other groups a conductor is only listed, as alive, so that their nodes do not
count as out of service.
"""

from __future__ import annotations

import datetime
import random
import time
import uuid as uuid_
from collections.abc import Sequence
from typing import Any

from lab import ironic, process

TRAITS = ('CUSTOM_LAB', 'HW_CPU_X86_VMX')
PROPERTIES = {
    'cpu_arch': 'x86_64',
    'cpus': '32',
    'memory_mb': '131072',
    'local_gb': '960',
}
_NO_CONDUCTOR = 'No conductor service registered'
_TIMEOUT = 180.0
_LISTED = 'conductor-of-'
"""Prefix of the names of conductors without a process."""


class Enrolment:
    """Adds nodes to one Ironic, and changes and deletes them.

    :ivar server: that Ironic.
    :param repeatable: draw the same uuids after each :meth:`clear`, and in
        each run, so that a hash ring never gives one service all nodes.
    """

    def __init__(
        self, server: ironic.Ironic, *, repeatable: bool = False
    ) -> None:
        self.server = self._ironic = server
        self._repeatable = repeatable
        self._random = self._seeded()
        self._template: dict[str, Any] | None = None

    def _seeded(self) -> random.Random:
        return random.Random(1 if self._repeatable else None)

    def _uuid(self) -> str:
        bits = self._random.getrandbits(128)
        return str(uuid_.UUID(int=bits, version=4))

    def enrol(
        self,
        count: int,
        *,
        shard: str | None = None,
        conductor_group: str = '',
        instance_share: float = 0.0,
        prefix: str = 'node',
        same_every_time: bool = False,
    ) -> list[str]:
        """Add nodes: available and powered off, or deployed.

        :param count: how many.
        :param conductor_group: Ironic keeps it in lower case.
        :param instance_share: which part of them, 0.0 to 1.0, has an
            instance, is active and powered on; the first ones.
        :param prefix: of their names, which get a part of the uuid as well.
        :param same_every_time: derive the uuids from the prefix and the
            number, so that a hash ring decides the same in each run.
        :returns: their uuids, in the order of Ironic's list.
        """
        template = self._template or self._make_template()
        deployed = round(count * instance_share)
        rows = []
        for number in range(count):
            uuid = str(
                uuid_.uuid5(uuid_.NAMESPACE_DNS, f'{prefix}-{number}')
                if same_every_time
                else self._uuid()
            )
            row = {
                **template,
                'uuid': uuid,
                'name': f'{prefix}-{uuid[:13]}',
                'shard': shard,
                'conductor_group': conductor_group.lower(),
                'updated_at': _now(),
            }
            if number < deployed:
                row['instance_uuid'] = self._uuid()
                row['provision_state'] = 'active'
                row['power_state'] = 'power on'
            rows.append(row)
        self._list_conductor(conductor_group.lower())
        self._insert(rows)
        return [row['uuid'] for row in rows]

    def _insert(self, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        columns = list(rows[0])
        names = ', '.join(columns)
        values = ', '.join(f':{column}' for column in columns)
        with self._ironic.sql() as database:
            for row in rows:
                new = database.execute(
                    f'INSERT INTO nodes ({names}) VALUES ({values})', row
                )
                database.executemany(
                    'INSERT INTO node_traits '
                    '(node_id, trait, version, created_at) '
                    'VALUES (?, ?, ?, ?)',
                    [
                        (new.lastrowid, trait, '1.0', row['created_at'])
                        for trait in TRAITS
                    ],
                )

    def _list_conductor(self, group: str) -> None:
        """Add a conductor of the group to Ironic's list, without a process."""
        if not group:
            return
        with self._ironic.sql() as database:
            database.execute(
                'INSERT OR IGNORE INTO conductors (created_at, updated_at, '
                'version, hostname, drivers, online, conductor_group) '
                'SELECT created_at, updated_at, version, ?, drivers, 1, ? '
                "FROM conductors WHERE conductor_group = '' LIMIT 1",
                (f'{_LISTED}{group}', group),
            )

    def serve_group(self, group: str) -> None:
        """Let the only conductor serve a group, until :meth:`clear`.

        Nodes of the group can be deployed then, and no others.
        """
        with self._ironic.sql() as database:
            database.execute(
                'UPDATE conductors SET conductor_group = ? '
                f"WHERE hostname NOT LIKE '{_LISTED}%'",
                (group.lower(),),
            )

    def _make_template(self) -> dict[str, Any]:
        """Bring one real node to available, and keep its row but not it."""
        request = self._ironic.request
        uuid = request(
            'POST',
            '/nodes',
            json={
                'driver': 'fake-hardware',
                'resource_class': 'baremetal',
                'properties': PROPERTIES,
            },
        )['uuid']
        for verb, state in (
            ('manage', 'manageable'),
            ('provide', 'available'),
        ):
            request(
                'PUT', f'/nodes/{uuid}/states/provision', json={'target': verb}
            )
            self._wait(uuid, 'provision_state', state)
        request(
            'PUT', f'/nodes/{uuid}/states/power', json={'target': 'power off'}
        )
        self._wait(uuid, 'power_state', 'power off')
        with self._ironic.sql() as database:
            row = database.execute(
                'SELECT * FROM nodes WHERE uuid = ?', (uuid,)
            ).fetchone()
        request('DELETE', f'/nodes/{uuid}')
        self._template = dict(row)
        del self._template['id']
        return self._template

    def _wait(self, uuid: str, field: str, value: str) -> None:
        deadline = time.monotonic() + _TIMEOUT
        node: dict[str, Any] = {}
        while node.get(field) != value or node.get('reservation'):
            if time.monotonic() > deadline:
                raise process.LabError(
                    f'node {uuid}: {field} is {node.get(field)!r} and not '
                    f'{value!r} after {_TIMEOUT:g} s: {node.get("last_error")}'
                )
            time.sleep(0.05)
            node = self._ironic.request('GET', f'/nodes/{uuid}')

    def set_instance(self, uuid: str, instance_uuid: str | None) -> None:
        """Put an instance on a node, or take it off."""
        self._set(uuid, 'instance_uuid', instance_uuid)

    def set_shard(self, uuid: str, shard: str | None) -> None:
        """Move a node to another shard, or out of all."""
        self._set(uuid, 'shard', shard)

    def set_conductor_group(self, uuid: str, group: str) -> None:
        """Move a node to another conductor group; '' is the default one."""
        self._list_conductor(group.lower())
        self._set(uuid, 'conductor_group', group.lower())

    def set_attribute(
        self, uuid: str, field: str, name: str, value: str
    ) -> None:
        """Set one key of the properties or of the extra of a node."""
        change = {'op': 'add', 'path': f'/{field}/{name}', 'value': value}
        self._ironic.request('PATCH', f'/nodes/{uuid}', json=[change])

    def set_maintenance(self, uuid: str, maintenance: bool) -> None:
        """Put a node into maintenance, or take it out."""
        self._set(uuid, 'maintenance', maintenance)

    def delete(self, uuid: str) -> None:
        """Delete a node that has no instance.

        :raises LabError: if Ironic refuses.
        """
        try:
            self._ironic.request('DELETE', f'/nodes/{uuid}')
        except process.LabError as exc:
            if _NO_CONDUCTOR not in str(exc):
                raise
            self.delete_all([uuid])

    def set_shards(self, uuids: Sequence[str], shard: str) -> None:
        """Move many nodes to another shard at once, in the database."""
        with self._ironic.sql() as database:
            database.executemany(
                'UPDATE nodes SET shard = ?, updated_at = ? WHERE uuid = ?',
                [(shard, _now(), uuid) for uuid in uuids],
            )

    def delete_all(self, uuids: Sequence[str]) -> None:
        """Delete many nodes at once, from the database."""
        some = [(uuid,) for uuid in uuids]
        with self._ironic.sql() as database:
            database.executemany(
                'DELETE FROM node_traits WHERE node_id = '
                '(SELECT id FROM nodes WHERE uuid = ?)',
                some,
            )
            database.executemany('DELETE FROM nodes WHERE uuid = ?', some)

    def age(self) -> None:
        """Let the last change of each node be long ago."""
        with self._ironic.sql() as database:
            database.execute(
                "UPDATE nodes SET updated_at = '2020-01-01 00:00:00.000000'"
            )

    def clear(self) -> None:
        """Delete every node from the database, deployed ones as well."""
        with self._ironic.sql() as database:
            database.execute('DELETE FROM allocations')
            database.execute('DELETE FROM node_traits')
            database.execute('DELETE FROM nodes')
            database.execute(
                f"DELETE FROM conductors WHERE hostname LIKE '{_LISTED}%'"
            )
            # Its ring of conductors is read again when one lacks the group.
            database.execute("UPDATE conductors SET conductor_group = ''")
        self._random = self._seeded()

    def _set(self, uuid: str, field: str, value: str | bool | None) -> None:
        change = (
            {'op': 'remove', 'path': f'/{field}'}
            if value is None
            else {'op': 'add', 'path': f'/{field}', 'value': value}
        )
        try:
            self._ironic.request('PATCH', f'/nodes/{uuid}', json=[change])
        except process.LabError as exc:
            if _NO_CONDUCTOR not in str(exc):
                raise
            with self._ironic.sql() as database:
                database.execute(
                    f'UPDATE nodes SET {field} = ?, updated_at = ? '
                    'WHERE uuid = ?',
                    (value, _now(), uuid),
                )


def _now() -> str:
    # As Ironic stores the time of a change.
    now = datetime.datetime.now(datetime.UTC)
    return now.strftime('%Y-%m-%d %H:%M:%S.%f')
