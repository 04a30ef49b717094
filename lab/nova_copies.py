"""Copies of what Nova made once: of a compute node, and of a server.

The first one is made by the real programs. The others are rows that differ
in nothing but their uuids, in the cell, in Placement and in Ironic: a second
where Nova would need minutes, and a thousand deployments hours.
"""

from __future__ import annotations

import contextlib
import sqlite3
import uuid as uuid_
from collections.abc import Mapping, Sequence

from lab import ironic, nova, nova_schema, process

_AT_A_TIME = 500
_OF_INSTANCES = (
    *('instance_extra', 'instance_info_caches', 'instance_system_metadata'),
    *('instance_metadata', 'block_device_mapping'),
)


def copy_compute_node(
    cloud: nova.Nova, original: str, uuids: Sequence[str]
) -> None:
    """Add the row and the provider of each node, as the original has them.

    :param original: uuid of a free node that a nova-compute has reported.
    """
    _copy_rows(
        cloud,
        'compute_nodes',
        f"t.uuid = '{original}' AND t.deleted = 0",
        [{'uuid': uuid, 'hypervisor_hostname': uuid} for uuid in uuids],
    )
    with contextlib.closing(_placement(cloud)) as database, database:
        _copy_providers(database, original, uuids)


def copy_server(
    cloud: nova.Nova,
    server: ironic.Ironic,
    original: str,
    nodes: Sequence[str],
) -> dict[str, str]:
    """Put a copy of an active server on each of some free nodes.

    The copies are known to cell, Placement and Ironic, and not to the
    database of Nova's API. Their host is that of the original.

    :param server: the Ironic of that Nova.
    :param original: uuid of the server.
    :returns: the uuid of the copy on each node.
    """
    copies = {node: str(uuid_.uuid4()) for node in nodes}
    _copy_rows(
        cloud,
        'instances',
        f"t.uuid = '{original}'",
        [{'uuid': copy, 'node': node} for node, copy in copies.items()],
    )
    for table in _OF_INSTANCES:
        _copy_rows(
            cloud,
            table,
            f"t.instance_uuid = '{original}' AND t.deleted = 0",
            [
                {'instance_uuid': copy, 'uuid': str(uuid_.uuid4())}
                for copy in copies.values()
            ],
        )
    cell = nova_schema.CELL1
    cloud.database.query(
        f'UPDATE {cell}.instances AS i JOIN {cell}.compute_nodes AS c '
        'ON c.hypervisor_hostname = i.node AND c.deleted = 0 '
        'SET i.compute_id = c.id WHERE i.deleted = 0'
    )
    with contextlib.closing(_placement(cloud)) as database, database:
        _copy_allocations(database, original, copies)
    _deploy(server, original, copies)
    return copies


def _copy_rows(
    cloud: nova.Nova,
    table: str,
    which: str,
    replaced: Sequence[Mapping[str, str]],
) -> None:
    query, cell = cloud.database.query, nova_schema.CELL1
    columns = [
        name
        for (name,) in query(
            'SELECT column_name FROM information_schema.columns '
            f"WHERE table_schema = '{cell}' AND table_name = '{table}' "
            "AND column_name <> 'id'"
        )
    ]
    for start in range(0, len(replaced), _AT_A_TIME):
        some = replaced[start : start + _AT_A_TIME]
        new = ' UNION ALL '.join(
            'SELECT '
            + ', '.join(f"'{value}' AS {name}" for name, value in row.items())
            for row in some
        )
        values = ', '.join(
            f'{"n" if name in some[0] else "t"}.`{name}`' for name in columns
        )
        names = ', '.join(f'`{name}`' for name in columns)
        query(
            f'INSERT INTO {cell}.{table} ({names}) SELECT {values} '
            f'FROM {cell}.{table} AS t JOIN ({new}) AS n WHERE {which}'
        )


def _placement(cloud: nova.Nova) -> sqlite3.Connection:
    return sqlite3.connect(
        cloud.placement.directory / 'placement.db', timeout=60
    )


def _copy_providers(
    database: sqlite3.Connection, original: str, uuids: Sequence[str]
) -> None:
    source = _provider(database, original)
    for uuid in uuids:
        made = database.execute(
            'INSERT INTO resource_providers (created_at, updated_at, uuid, '
            'name, generation) SELECT created_at, updated_at, ?, ?, '
            'generation FROM resource_providers WHERE id = ?',
            (uuid, uuid, source),
        ).lastrowid
        database.execute(
            'UPDATE resource_providers SET root_provider_id = id WHERE id = ?',
            (made,),
        )
        for table in ('inventories', 'resource_provider_traits'):
            _copy_of_provider(database, table, source, made)


def _copy_of_provider(
    database: sqlite3.Connection, table: str, source: int, made: int | None
) -> None:
    kept = [
        column
        for _, column, *_ in database.execute(f'PRAGMA table_info({table})')
        if column not in ('id', 'resource_provider_id')
    ]
    names = ', '.join(kept)
    database.execute(
        f'INSERT INTO {table} ({names}, resource_provider_id) '
        f'SELECT {names}, ? FROM {table} WHERE resource_provider_id = ?',
        (made, source),
    )


def _copy_allocations(
    database: sqlite3.Connection, original: str, copies: Mapping[str, str]
) -> None:
    for node, copy in copies.items():
        database.execute(
            'INSERT INTO consumers (created_at, updated_at, uuid, '
            'project_id, user_id, generation, consumer_type_id) '
            'SELECT created_at, updated_at, ?, project_id, user_id, '
            'generation, consumer_type_id FROM consumers WHERE uuid = ?',
            (copy, original),
        )
        database.execute(
            'INSERT INTO allocations (created_at, updated_at, '
            'resource_provider_id, consumer_id, resource_class_id, used) '
            'SELECT created_at, updated_at, ?, ?, resource_class_id, used '
            'FROM allocations WHERE consumer_id = ?',
            (_provider(database, node), copy, original),
        )


def _provider(database: sqlite3.Connection, uuid: str) -> int:
    found = database.execute(
        'SELECT id FROM resource_providers WHERE uuid = ?', (uuid,)
    ).fetchone()
    if found is None:
        raise process.LabError(f'Placement has no provider {uuid}')
    return int(found[0])


def _deploy(
    server: ironic.Ironic, original: str, copies: Mapping[str, str]
) -> None:
    """Deploy nodes in the database of Ironic, as that of the original."""
    with server.sql() as database:
        deployed = database.execute(
            'SELECT provision_state, power_state, instance_info FROM nodes '
            'WHERE instance_uuid = ?',
            (original,),
        ).fetchone()
        for node, copy in copies.items():
            database.execute(
                'UPDATE nodes SET instance_uuid = ?, provision_state = ?, '
                'power_state = ?, instance_info = ? WHERE uuid = ?',
                (copy, *tuple(deployed), node),
            )
