"""Companion for a Nova cell: its rows change in the transactions of owners.

``compute_nodes.host`` and ``service_id`` follow the owner on record, and
``instances.host`` follows in a move. Which instances run, and the settings of
a service, are the cell's.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.db import (
    connection,
    dialects,
    linked_tables,
    rows,
    tables,
)
from ironic_ownership_nova.cell.locked_rows import LockedRows, Row
from ironic_ownership_nova.cell.tables import (
    BINARY,
    HYPERVISOR_TYPE,
    CellTables,
    SecondsAgo,
)

_LOOKED_UP = 2500
"""Combinations of a host and a node in one statement: the optimizer of MariaDB
uses no index for tens of thousands."""
_FLAGS = ('disabled', 'disabled_reason', 'forced_down')


class Cell(linked_tables.LinkedTables):
    """One Nova cell on the server of the records.

    :param schema: name of its schema.
    :param down_time: seconds after its last heartbeat in which a service of
        the cell counts as up.
    """

    def __init__(self, schema: str, down_time: float = 60) -> None:
        self.tables = CellTables(schema)
        self._down_time = down_time

    def lock(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> linked_tables.LockedNodes:
        if not uuids:
            return linked_tables.NOTHING
        return self._rows(conn, uuids, lock=True)

    def against_moves(
        self, conn: sa.Connection, destinations: Mapping[str, str]
    ) -> Mapping[str, str]:
        rows = self._rows(conn, destinations, lock=False)
        return {
            uuid: line
            for uuid, host in destinations.items()
            if (line := rows.against_move(uuid, None, host, None))
        }

    def _rows(
        self, conn: sa.Connection, uuids: Collection[str], *, lock: bool
    ) -> LockedRows:
        node, service = self.tables.compute_nodes.c, self.tables.services.c
        nodes: dict[str, Row] = {}
        other_types: dict[str, str] = {}
        for some in connection.chunks(sorted(uuids)):
            statement = (
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
            )
            for row in conn.execute(
                statement.with_for_update() if lock else statement
            ):
                if row.is_of_ironic:
                    nodes[row.uuid] = row
                elif row.deleted == 0:
                    other_types[row.uuid] = row.hypervisor_type
        # Of services that PostgreSQL tells apart by case, the last one counts.
        services = conn.execute(
            sa.select(service.id, service.host)
            .where(self.tables.is_compute)
            .order_by(service.last_seen_up.is_not(None), service.last_seen_up)
        )
        return LockedRows(
            conn,
            self.tables,
            nodes,
            self._instances(conn, uuids, lock=True) if lock else {},
            {canonical_host(row.host): row for row in services},
            other_types,
        )

    def _instances(
        self, conn: sa.Connection, uuids: Collection[str], *, lock: bool
    ) -> dict[str, list[Row]]:
        # By their keys: a locking read by node would wait for instances of
        # other nodes.
        instance = self.tables.instances.c
        found: dict[str, list[Row]] = {}
        for some in connection.chunks(sorted(self._running(conn, uuids))):
            statement = (
                sa.select(
                    instance.id, instance.uuid, instance.node, instance.host
                )
                .where(instance.id.in_(some), self._is_running)
                .order_by(instance.id)
            )
            for row in conn.execute(
                statement.with_for_update() if lock else statement
            ):
                found.setdefault(row.node, []).append(row)
        return found

    @property
    def _is_running(self) -> sa.ColumnElement[bool]:
        instance = self.tables.instances.c
        return (instance.deleted == 0) & instance.host.is_not(None)

    def _running(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> list[int]:
        """Return the keys of the running instances on some nodes.

        Nova has no index that begins with the node, but one of host, node and
        deleted. MariaDB looks few hosts and nodes up in it, and reads the
        whole index for many, which is why no other column is selected.
        PostgreSQL would read the whole table to find the hosts, and less of it
        by the index that begins with deleted.
        """
        instance = self.tables.instances.c
        hosts: Sequence[str] | None = None
        if conn.dialect.name in dialects.MYSQL:
            hosts = conn.scalars(
                sa.select(instance.host)
                .where(instance.host.is_not(None))
                .distinct()
            ).all()
        found: list[int] = []
        for some in connection.chunks(sorted(uuids)):
            statement = sa.select(instance.id).where(
                instance.node.in_(some), self._is_running
            )
            if hosts is not None and len(hosts) * len(some) <= _LOOKED_UP:
                statement = statement.where(instance.host.in_(hosts))
            found += conn.scalars(statement)
        return found

    def instances(
        self, conn: sa.Connection, uuids: Collection[str]
    ) -> Mapping[str, Sequence[str]]:
        found = self._instances(conn, uuids, lock=False)
        return {
            node: [row.uuid for row in rows] for node, rows in found.items()
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
            )
            .where(
                self.tables.is_compute,
                sa.func.lower(service.host).in_(sorted(hosts)),
            )
            # As for rows of nodes, the last one counts.
            .order_by(service.last_seen_up.is_not(None), service.last_seen_up)
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

        def count(
            column: sa.Column[Any], *which: sa.ColumnElement[bool]
        ) -> int:
            # An index finds the hosts, and each in its own spelling.
            hosts = conn.scalars(
                sa.select(column).where(column.is_not(None)).distinct()
            )
            spellings = [h for h in hosts if canonical_host(h) == host]
            return conn.execute(
                sa.select(sa.func.count()).where(column.in_(spellings), *which)
            ).scalar_one()

        return (
            count(
                node.host,
                node.hypervisor_type == HYPERVISOR_TYPE,
                node.deleted == 0,
            ),
            count(instance.host, instance.deleted == 0),
        )

    def is_up(self, services: sa.FromClause) -> sa.ColumnElement[bool]:
        """Return whether Nova counts a service as up, forced down or not."""
        # Nova goes by the clock of each machine.
        return services.c.last_seen_up >= SecondsAgo(self._down_time)

    @functools.cached_property
    def services(self) -> rows.ServiceSource:  # type: ignore[override]
        """The source of services, with the settings of the cell."""
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
        return rows.ServiceSource(
            (*columns, reason, self.is_up(theirs).label('up_in_nova')),
            ours.outerjoin(
                theirs,
                (theirs.c.binary == BINARY)
                & (theirs.c.deleted == 0)
                & (sa.func.lower(theirs.c.host) == ours.c.host),
            ),
        )
