"""The port to a cell on SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import cell, model
from ironic_ownership.db import connection, queries, tables, transaction
from ironic_ownership.db.cell import adoption, grants
from ironic_ownership.db.cell.companion import Cell

_nodes = tables.compute_nodes.c
_instances = tables.instances.c


class SqlCell(connection.Port, cell.Cell):
    """A cell on the server of the records."""

    def __init__(self, database: connection.Database, companion: Cell) -> None:
        super().__init__(database, companion)
        self._cell = companion

    def missing_grants(self) -> Sequence[cell.MissingGrant]:
        tried = self._cell.tables
        return self._database.read(lambda conn: grants.missing(conn, tried))

    def read(self) -> cell.CellSnapshot:
        found = self._cell.tables
        service, node = found.services.c, found.compute_nodes.c
        instance = found.instances.c
        services = sa.select(
            service.id, service.host, service.disabled, service.forced_down
        ).where(found.is_compute)
        nodes = sa.select(
            node.id,
            node.uuid,
            node.hypervisor_hostname,
            node.host,
            node.service_id,
        ).where(found.is_of_ironic, node.deleted == 0)
        # Without a join: Nova has no index by node.
        running = sa.select(instance.uuid, instance.node, instance.host).where(
            instance.deleted == 0, instance.host.is_not(None)
        )

        def work(conn: sa.Connection) -> cell.CellSnapshot:
            of_ironic = [
                cell.CellNode(*row)
                for row in conn.execute(nodes.order_by(node.id))
            ]
            names = {one.name for one in of_ironic}
            return cell.CellSnapshot(
                [
                    cell.CellService(
                        row.id,
                        row.host,
                        bool(row.disabled),
                        bool(row.forced_down),
                    )
                    for row in conn.execute(services.order_by(service.id))
                ],
                of_ironic,
                [
                    cell.CellInstance(*row)
                    for row in conn.execute(running.order_by(instance.id))
                    if row.node in names
                ],
            )

        return self._database.read(work)

    @connection.writes
    def adopt(
        self,
        conn: sa.Connection,
        nodes: Mapping[str, model.Node | None],
        actor: str,
    ) -> Sequence[cell.AdoptedNode]:
        return adoption.adopt(conn, self._cell, nodes, actor)

    def drift(self, host: str | None = None) -> Sequence[cell.Drift]:
        found = self._cell.tables
        node, instance = found.compute_nodes.c, found.instances.c
        statement = (
            sa.select(_nodes.uuid, _nodes.host, node.host, instance.uuid)
            .select_from(
                tables.compute_nodes.join(
                    found.compute_nodes, _nodes.uuid == node.uuid
                ).outerjoin(
                    found.instances,
                    (instance.node == node.hypervisor_hostname)
                    & (instance.host == node.host)
                    & (instance.deleted == 0),
                )
            )
            .where(
                found.is_of_ironic,
                node.deleted == 0,
                _nodes.deleted_at.is_(None),
                _nodes.host.is_not(None),
                sa.func.coalesce(sa.func.lower(node.host), '') != _nodes.host,
            )
            .order_by(_nodes.uuid)
        )
        if host is not None:
            statement = statement.where(_nodes.host == host)
        return self._database.select(
            statement, lambda row: cell.Drift(*tuple[Any, ...](row))
        )

    @connection.writes
    def repair(
        self,
        conn: sa.Connection,
        host: str,
        epoch: int,
        uuids: Sequence[str],
    ) -> Sequence[str]:
        service = transaction.lock_service(conn, host)
        transaction.check_right(host, epoch, service)
        own: list[str] = []
        for some in queries.chunks(sorted(uuids)):
            own += conn.scalars(
                sa.select(_nodes.uuid)
                .where(
                    _nodes.uuid.in_(some),
                    _nodes.host == host,
                    _nodes.deleted_at.is_(None),
                )
                .order_by(_nodes.uuid)
                .with_for_update()
            )
        locked = self._cell.lock(conn, own)
        free = [
            uuid for uuid in own if locked.against_claim(uuid, host) is None
        ]
        locked.assign(free, host)
        return free
