"""Rows of a Nova cell that a transaction holds locked, and their changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.db import connection, linked_tables
from ironic_ownership_nova.cell.tables import CellTables

Row = Any
"""A row of a result; its columns depend on the statement."""

_Strays = dict[str, list[str | None]]
"""Uuids of rows, by the name of their node."""


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
    _strays: dict[str, _Strays] = dataclasses.field(
        default_factory=dict, init=False
    )

    def running(self, uuid: str) -> Sequence[str]:
        return [row.uuid for row in self.instances.get(uuid, ())]

    def against_claim(self, uuid: str, host: str) -> str | None:
        for instance in self.instances.get(uuid, ()):
            if canonical_host(instance.host) != host:
                return (
                    f'cell_instance: the instance {instance.uuid} is '
                    f'on {instance.host} in the cell'
                )
        return self._against_row(uuid, host)

    def _against_row(self, uuid: str, host: str) -> str | None:
        if uuid not in self.nodes:
            return None
        if host not in self.services:
            return f'cell_service: the cell has no nova-compute service {host}'
        # Once for all nodes that go to it.
        spelled = self.services[host].host
        if host not in self._strays:
            self._strays[host] = strays(
                self.conn, self.tables, self.nodes, spelled
            )
        if found := self._strays[host].get(uuid):
            # Nova has a unique index by host and name: to write this row
            # would end the transaction, with all its other nodes.
            return (
                f'cell_row: another row of the cell, with the uuid '
                f'{found[0]}, gives the node to {host}; see '
                '"ironic-ownership nova check"'
            )
        return None

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
        return self._against_row(uuid, destination)

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
            deleted_at=utc_now(),
        )

    def _update(
        self, table: sa.Table, rows: Sequence[Row], **values: Any
    ) -> None:
        for some in connection.chunks([row.id for row in rows]):
            done = self.conn.execute(
                sa.update(table)
                .where(table.c.id.in_(some))
                .values(updated_at=utc_now(), **values)
            )
            if done.rowcount != len(some):
                raise exceptions.RecordsError(
                    f'{len(some)} rows of {table.fullname} were locked and '
                    f'{done.rowcount} written: nothing was changed',
                    hint='Run ironic-ownership nova check',
                )


def strays(
    conn: sa.Connection,
    tables: CellTables,
    names: Collection[str],
    host: str | None = None,
) -> _Strays:
    """Return the uuids of rows that are not those of their nodes.

    :param names: of the nodes.
    :param host: whose rows are read, by an index, in the spelling of the cell;
        otherwise all are, as no index begins with the name of a node.
    """
    node = tables.compute_nodes.c
    found: _Strays = {}
    for some in connection.chunks(sorted(names)):
        chosen = tables.is_stray & node.hypervisor_hostname.in_(some)
        if host is not None:
            chosen &= node.host == host
        for name, uuid in conn.execute(
            sa.select(node.hypervisor_hostname, node.uuid).where(chosen)
        ):
            found.setdefault(name, []).append(uuid)
    return found


def utc_now() -> datetime:
    """Return the time as Nova writes it."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)
