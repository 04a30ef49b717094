"""Companion for a Nova cell: its rows change in the transactions of owners.

``compute_nodes.host`` and ``service_id`` follow the owner on record, and
``instances.host`` follows in a move. Which instances run, and the settings of
a service, are the cell's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.db import linked_tables, queries, tables
from ironic_ownership_nova.cell.tables import (
    BINARY,
    HYPERVISOR_TYPE,
    CellTables,
)

Row = Any
"""A row of a result; its columns depend on the statement."""

_FLAGS = ('disabled', 'disabled_reason', 'forced_down')


class Cell(linked_tables.LinkedTables):
    """One Nova cell on the server of the records.

    :param schema: name of its schema.
    :param down_time: seconds after its last heartbeat in which a service of
        the cell counts as up.
    """

    def __init__(self, schema: str, down_time: float = 60) -> None:
        self.tables = CellTables(schema)
        self._down_time = timedelta(seconds=down_time)

    def lock(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> linked_tables.LockedNodes:
        if not uuids:
            return linked_tables.NOTHING
        node, service = self.tables.compute_nodes.c, self.tables.services.c
        nodes: dict[str, Row] = {}
        other_types: dict[str, str] = {}
        for some in queries.chunks(sorted(uuids)):
            for row in conn.execute(
                sa.select(
                    node.id,
                    node.uuid,
                    node.host,
                    node.service_id,
                    node.deleted,
                    node.hypervisor_type,
                    self.tables.is_of_ironic.label('is_of_ironic'),
                )
                .where(node.uuid.in_(some))
                .order_by(node.uuid)
                .with_for_update()
            ):
                if row.is_of_ironic:
                    nodes[row.uuid] = row
                elif row.deleted == 0:
                    other_types[row.uuid] = row.hypervisor_type
        services = conn.execute(
            sa.select(service.id, service.host).where(self.tables.is_compute)
        )
        return LockedRows(
            conn,
            self.tables,
            nodes,
            self._lock_instances(conn, uuids),
            {canonical_host(row.host): row for row in services},
            other_types,
        )

    def _lock_instances(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> dict[str, list[Row]]:
        # By their keys: no index begins with the node, so a locking read by
        # node would wait for instances of other nodes.
        instance = self.tables.instances.c
        ids = [row.id for row in self._running(conn, uuids)]
        found: dict[str, list[Row]] = {}
        for some in queries.chunks(sorted(ids)):
            for row in conn.execute(
                sa.select(
                    instance.id, instance.uuid, instance.node, instance.host
                )
                .where(instance.id.in_(some), self._is_running)
                .order_by(instance.id)
                .with_for_update()
            ):
                found.setdefault(row.node, []).append(row)
        return found

    @property
    def _is_running(self) -> sa.ColumnElement[bool]:
        instance = self.tables.instances.c
        return (instance.deleted == 0) & instance.host.is_not(None)

    def _running(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> list[Row]:
        instance = self.tables.instances.c
        found: list[Row] = []
        for some in queries.chunks(sorted(uuids)):
            found += conn.execute(
                sa.select(instance.id, instance.uuid, instance.node)
                .where(instance.node.in_(some), self._is_running)
                .order_by(instance.id)
            )
        return found

    def instances(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for row in self._running(conn, uuids):
            found.setdefault(row.node, []).append(row.uuid)
        return found

    def other_types(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> Mapping[str, str]:
        node = self.tables.compute_nodes.c
        return {
            row.uuid: row.hypervisor_type
            for some in queries.chunks(sorted(uuids))
            for row in conn.execute(
                sa.select(node.uuid, node.hypervisor_type).where(
                    node.uuid.in_(some),
                    node.deleted == 0,
                    ~self.tables.is_of_ironic,
                )
            )
        }

    def flags(
        self, conn: sa.Connection, hosts: Collection[str]
    ) -> Mapping[str, linked_tables.Flags]:
        service = self.tables.services.c
        rows = conn.execute(
            sa.select(
                service.host,
                service.disabled,
                service.disabled_reason,
                service.forced_down,
            ).where(
                self.tables.is_compute,
                sa.func.lower(service.host).in_(sorted(hosts)),
            )
        )
        return {
            canonical_host(row.host): linked_tables.Flags(
                bool(row.disabled),
                row.disabled_reason,
                bool(row.forced_down),
            )
            for row in rows
        }

    def set_flags(
        self, conn: sa.Connection, host: str, flags: linked_tables.Flags
    ) -> None:
        service = self.tables.services.c
        conn.execute(
            sa.update(self.tables.services)
            .where(self.tables.is_compute, sa.func.lower(service.host) == host)
            .values(dataclasses.asdict(flags))
        )

    def unfollowed(self) -> sa.Select[Any]:
        """Select the hosts whose settings in the cell are not on record."""
        ours, theirs = tables.services.c, self.tables.services.c

        def differs(name: str) -> sa.ColumnElement[bool]:
            known = sa.func.coalesce(theirs[name], sa.false())
            return ours[name] != known

        return (
            sa.select(ours.host)
            .join(
                self.tables.services,
                self.tables.is_compute
                & (sa.func.lower(theirs.host) == ours.host),
            )
            .where(differs('disabled') | differs('forced_down'))
            .order_by(ours.host)
        )

    def usage(self, conn: sa.Connection, host: str) -> tuple[int, int]:
        node, instance = self.tables.compute_nodes.c, self.tables.instances.c

        def count(*which: sa.ColumnElement[bool]) -> int:
            return conn.execute(
                sa.select(sa.func.count()).where(*which)
            ).scalar_one()

        return (
            count(
                sa.func.lower(node.host) == host,
                node.hypervisor_type == HYPERVISOR_TYPE,
                node.deleted == 0,
            ),
            count(sa.func.lower(instance.host) == host, self._is_running),
        )

    def is_up(self, services: sa.FromClause) -> sa.ColumnElement[bool]:
        """Return whether Nova counts a service as up, forced down or not."""
        # By the clock of this machine, as in Nova.
        return services.c.last_seen_up >= _utc_now() - self._down_time

    def services(self) -> queries.ServiceSource:
        ours = tables.services
        theirs = self.tables.services.alias('cell_services')
        columns = [
            sa.func.coalesce(theirs.c[c.name], c).label(c.name)
            if c.name in _FLAGS and c.name != 'disabled_reason'
            else c
            for c in ours.c
            if c.name != 'disabled_reason'
        ]
        # Of the same row as the flag: one of them may have no reason.
        reason = sa.case(
            (theirs.c.id.is_(None), ours.c.disabled_reason),
            else_=theirs.c.disabled_reason,
        ).label('disabled_reason')
        return queries.ServiceSource(
            (*columns, reason, self.is_up(theirs).label('up_in_nova')),
            ours.outerjoin(
                theirs,
                (theirs.c.binary == BINARY)
                & (theirs.c.deleted == 0)
                & (sa.func.lower(theirs.c.host) == ours.c.host),
            ),
        )


@dataclasses.dataclass(frozen=True)
class LockedRows(linked_tables.LockedNodes):
    """Rows of some nodes, locked, and the services of the cell.

    :ivar nodes: by uuid, those that Nova deleted too.
    :ivar instances: the running ones, by the uuid of their node.
    :ivar services: by canonical name; their spelling is the cell's.
    :ivar other_types: of nodes that are not Ironic's, which are not written.
    """

    conn: sa.Connection
    tables: CellTables
    nodes: Mapping[str, Row]
    instances: Mapping[str, Sequence[Row]]
    services: Mapping[str, Row]
    other_types: Mapping[str, str]

    def running(self, uuid: str) -> Sequence[str]:
        return [row.uuid for row in self.instances.get(uuid, ())]

    def against_claim(self, uuid: str, host: str) -> str | None:
        for instance in self.instances.get(uuid, ()):
            if canonical_host(instance.host) != host:
                return (
                    f'cell_instance: the instance {instance.uuid} is '
                    f'on {instance.host} in the cell'
                )
        return self._without_service(uuid, host)

    def _without_service(self, uuid: str, host: str) -> str | None:
        if uuid not in self.nodes or host in self.services:
            return None
        return f'cell_service: the cell has no nova-compute service {host}'

    def against_release(self, uuid: str) -> str | None:
        for instance in self.instances.get(uuid, ()):
            return (
                f'cell_instance: the cell has the instance {instance.uuid} '
                'on it'
            )
        return None

    def against_deletion(self, uuid: str, host: str | None) -> str | None:
        row = self.nodes.get(uuid)
        if (
            row is not None
            and row.deleted == 0
            and host is not None
            and canonical_host(row.host or '') != host
        ):
            return f'cell_owner: its row in the cell names {row.host}'
        return self.against_release(uuid)

    def against_move(
        self,
        uuid: str,
        source: str | None,
        destination: str,
        instance: str | None,
    ) -> str | None:
        if uuid in self.other_types:
            return (
                'is_ironic: its row in the cell has the hypervisor type '
                f'{self.other_types[uuid]}'
            )
        running = self.instances.get(uuid, ())
        if len(running) > 1:
            names = ', '.join(self.running(uuid))
            return f'at_most_one_instance: the cell has {names} on it'
        for row in running:
            if row.uuid != instance:
                return (
                    f'instance_agrees: the cell has the instance {row.uuid} '
                    f'on it, the plan {instance or "none"}'
                )
            # Either may be left by a move that another program did not end.
            if canonical_host(row.host) not in (source, destination):
                return (
                    f'instance_agrees: in the cell the instance {row.uuid} '
                    f'is on {row.host}'
                )
        return self._without_service(uuid, destination)

    def assign(self, uuids: Collection[str], host: str) -> None:
        service = self.services.get(host)
        nodes = [self.nodes[u] for u in uuids if u in self.nodes]
        if service is None:
            # Objections keep each node out that has a row.
            return
        self._update(
            self.tables.compute_nodes,
            [
                row
                for row in nodes
                if (row.host, row.service_id, row.deleted)
                != (service.host, service.id, 0)
            ],
            host=service.host,
            service_id=service.id,
            deleted=0,
            deleted_at=None,
            # Nova maps the host the next time that it discovers hosts.
            mapped=0,
        )
        self._update(
            self.tables.instances,
            [
                row
                for uuid in uuids
                for row in self.instances.get(uuid, ())
                if canonical_host(row.host) != host
            ],
            host=service.host,
        )

    def delete(self, uuids: Collection[str]) -> None:
        node = self.tables.compute_nodes
        rows = [self.nodes[uuid] for uuid in uuids if uuid in self.nodes]
        self._update(
            node,
            [row for row in rows if row.deleted == 0],
            deleted=node.c.id,
            deleted_at=_utc_now(),
        )

    def _update(
        self, table: sa.Table, rows: Sequence[Row], **values: Any
    ) -> None:
        for some in queries.chunks([row.id for row in rows]):
            done = self.conn.execute(
                sa.update(table)
                .where(table.c.id.in_(some))
                .values(updated_at=_utc_now(), **values)
            )
            if done.rowcount != len(some):
                raise exceptions.RecordsError(
                    f'{len(some)} rows of {table.fullname} were locked and '
                    f'{done.rowcount} written: nothing was changed',
                    hint='Run ironic-ownership nova check',
                )


def _utc_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)
