"""Companion for a Nova cell: its rows change in the transactions of owners.

``compute_nodes.host`` and ``service_id`` follow the owner on record, and
``instances.host`` follows in a move. Which instances run, and the settings of
a service, are the cell's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.db import linked_tables, queries, tables
from ironic_ownership_nova.cell.locked_rows import LockedRows, Row, utc_now
from ironic_ownership_nova.cell.tables import (
    BINARY,
    HYPERVISOR_TYPE,
    CellTables,
)

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
            self._strays(conn, uuids),
        )

    def _strays(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> dict[str, dict[str, str]]:
        node = self.tables.compute_nodes.c
        found: dict[str, dict[str, str]] = {}
        for some in queries.chunks(sorted(uuids)):
            for row in conn.execute(
                sa.select(
                    node.uuid, node.hypervisor_hostname, node.host
                ).where(
                    node.hypervisor_hostname.in_(some),
                    sa.func.coalesce(node.uuid, '')
                    != node.hypervisor_hostname,
                    node.deleted == 0,
                )
            ):
                hosts = found.setdefault(row.hypervisor_hostname, {})
                hosts[canonical_host(row.host or '')] = row.uuid
        return found

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
        return services.c.last_seen_up >= utc_now() - self._down_time

    @property
    def services(self) -> queries.ServiceSource:  # type: ignore[override]
        """The source of services; which of them are up depends on now."""
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
