"""The port to a Nova cell: what it has, and the adoption of its nodes.

The records live on the cell's database server. The cell's tables are read and
written by SQL; Nova is not asked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.db import connection, service_admin, tables, transaction
from ironic_ownership.db.transaction import Transaction
from ironic_ownership_nova.cell import adoption_transaction, grants
from ironic_ownership_nova.cell import model as cell
from ironic_ownership_nova.cell.companion import Cell

_nodes = tables.compute_nodes.c


_READS_ONLY = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'
_UUID = '-'.join('_' * length for length in (8, 4, 4, 4, 12))
_FETCHED = 1000


def _streamed(
    conn: sa.Connection, statement: sa.Select[Any]
) -> Iterator[sa.Row[Any]]:
    """Yield rows, of which only some are in memory."""
    return iter(
        conn.execute(statement, execution_options={'yield_per': _FETCHED})
    )


def _node(row: sa.Row[Any]) -> cell.CellNode:
    # One string for each host, and one for the uuid and the name.
    same = row.uuid == row.hypervisor_hostname
    return cell.CellNode(
        row.id,
        row.hypervisor_hostname if same else row.uuid,
        row.hypervisor_hostname,
        row.host and sys.intern(row.host),
        row.service_id,
        bool(row.replaced),
    )


class SqlCell(transaction.Port):
    """One cell.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer, and
    :class:`RecordsError` for a missing table or permission.
    """

    def __init__(self, database: connection.Database, companion: Cell) -> None:
        super().__init__(database, companion)
        self._cell = companion

    def missing_grants(self) -> Sequence[cell.MissingGrant]:
        """Return all permissions that are missing, one by one.

        Each is tried with a statement that changes no row.
        """
        tried = self._cell.tables
        return self._database.read(lambda conn: grants.missing(conn, tried))

    def read(self) -> cell.CellSnapshot:
        """Return the services, and Ironic's nodes and instances."""
        found = self._cell.tables
        service, instance = found.services.c, found.instances.c
        services = sa.select(
            *(service.id, service.host),
            self._cell.is_up(found.services).label('is_up'),
            service.forced_down,
        ).where(found.is_compute)
        # Without a join: Nova has no index by node. A node of Ironic has the
        # name of its uuid there, other nodes have that of a machine.
        running = sa.select(
            *(instance.uuid, instance.node, instance.host),
            (
                instance.task_state.is_(None)
                & (sa.func.coalesce(instance.vm_state, '') != 'building')
            ).label('is_settled'),
        ).where(
            instance.deleted == 0,
            instance.host.is_not(None),
            instance.node.like(_UUID),
        )

        def work(conn: sa.Connection) -> cell.CellSnapshot:
            # One snapshot of three tables; the server refuses to write.
            conn.exec_driver_sql(_READS_ONLY)
            return cell.CellSnapshot(
                [
                    cell.CellService(
                        row.id,
                        sys.intern(row.host),
                        bool(row.is_up) and not row.forced_down,
                        bool(row.forced_down),
                    )
                    for row in _streamed(conn, services.order_by(service.id))
                ],
                [_node(row) for row in _streamed(conn, self._rows())],
                [
                    cell.CellInstance(
                        row.uuid,
                        row.node,
                        sys.intern(row.host),
                        bool(row.is_settled),
                    )
                    for row in _streamed(conn, running.order_by(instance.id))
                ],
            )

        return self._database.read(work)

    @transaction.writes
    def adopt(
        self,
        tx: Transaction,
        nodes: Mapping[str, model.Node | None],
        origin: Origin,
    ) -> Sequence[cell.Result]:
        """Make the hosts of some rows owners on record, as one transaction.

        Services without a record get one with epoch 0, which never
        registered. A record whose owner has registered is not changed.
        A record of any other owner follows the row: stock Nova moves free
        nodes by itself. Repeated, it changes nothing.

        :param nodes: as Ironic has them, by uuid; ``None`` for one that
            Ironic does not have: it is adopted, and its owner deletes it.
        :param origin: for the events.
        """
        if not nodes:
            return ()
        return adoption_transaction.Adoption(
            tx, self._cell, nodes, origin
        ).run()

    def drift(self, host: str | None = None) -> Sequence[cell.Drift]:
        """Return the nodes whose row names another host than the record.

        :param host: only those of this owner on record, whose rows are found
            by indexes.
        """
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

        def work(conn: sa.Connection) -> list[cell.Drift]:
            if host is None:
                chosen = [statement]
            else:
                chosen = [
                    statement.where(_nodes.host == host, node.uuid.in_(some))
                    for some in connection.chunks(
                        self._unconfirmed(conn, host)
                    )
                ]
            return [
                cell.Drift(*tuple[Any, ...](row))
                for one in chosen
                for row in conn.execute(one)
            ]

        return self._database.read(work)

    def _unconfirmed(self, conn: sa.Connection, host: str) -> list[str]:
        """Return the nodes of an owner that no row gives to it.

        The character sets of the two schemas may differ, and then the server
        uses no index of the cell in a join.
        """
        found = self._cell.tables
        node, service = found.compute_nodes.c, found.services.c
        own = set(
            conn.scalars(
                sa.select(_nodes.uuid).where(
                    _nodes.host == host, _nodes.deleted_at.is_(None)
                )
            )
        )
        # As constants: a join that compares names in lower case would read
        # the nodes of all services, or the whole table.
        names = conn.scalars(
            sa.select(service.host)
            .distinct()
            .where(found.is_compute, sa.func.lower(service.host) == host)
        )
        own.difference_update(
            conn.scalars(
                sa.select(node.uuid).where(
                    node.host.in_(names.all()), node.deleted == 0
                )
            )
        )
        return sorted(own)

    def stray_rows(self) -> Sequence[cell.CellNode]:
        """Return the rows whose uuid is not that of their node. One query.

        Nova finds the row of a node by the node's uuid, and so does not use
        them; but it can create no other row on the same host.
        """
        strays = self._rows().where(self._cell.tables.is_stray)
        return self._database.select(strays, _node)

    def _rows(self) -> sa.Select[Any]:
        """Select the nodes of Ironic that are not deleted."""
        found = self._cell.tables
        node, other = found.compute_nodes.c, found.compute_nodes.alias().c
        return (
            sa.select(
                node.id,
                node.uuid,
                node.hypervisor_hostname,
                node.host,
                node.service_id,
                sa.exists()
                .where(
                    other.uuid == node.hypervisor_hostname, other.id != node.id
                )
                .label('replaced'),
            )
            .where(
                found.is_of_ironic,
                node.deleted == 0,
                # Without a name a row is of no node.
                node.hypervisor_hostname.is_not(None),
            )
            .order_by(node.id)
        )

    @transaction.writes
    def return_service(
        self, tx: Transaction, host: str, origin: Origin
    ) -> bool:
        """Treat a service like one that was adopted and never registered.

        Its records stay, and no other service takes them. A process that
        holds its place may not write any more. Repeated, it changes nothing.

        :param origin: for the events.
        :returns: whether it was registered.
        :raises NotFoundError: if the service is not on record.
        """
        before = service_admin.lock_known(tx, host)
        if before.never_registered:
            return False
        tx.update_service(
            host,
            epoch=before.epoch + 1,
            fenced=True,
            settings='',
            registered_at=None,
            incarnation=None,
            away_until=None,
        )
        tx.add_event(
            EventKind.SERVICE_CHANGED,
            origin,
            from_host=host,
            reason='returned to Nova',
        )
        return True

    def follow_settings(self, actor: str) -> Sequence[str]:
        """Write the settings of services in the cell into the records.

        One query, and a transaction for each service whose settings differ.

        :param actor: for the events.
        :returns: the hosts whose settings have changed.
        """
        return [
            host
            for host in self._database.select(
                self._cell.unfollowed(), lambda row: str(row.host)
            )
            if self._follow(host, actor)
        ]

    @transaction.writes
    def _follow(self, tx: Transaction, host: str, actor: str) -> bool:
        before = service_admin.lock(tx, host)
        if before is None:
            return False
        # The settings count already, but only the row of the records ends the
        # right to write of a service that is forced down.
        service_admin.change(tx, host, actor=actor)
        return service_admin.lock(tx, host) != before

    @transaction.writes
    def repair(
        self, tx: Transaction, host: str, epoch: int, uuids: Sequence[str]
    ) -> Sequence[str]:
        """Write the owner on record into the rows of free nodes.

        :param host: the owner, which has the right to write.
        :returns: the uuids of those that were free and its own.
        :raises FencedError: if the epoch is no longer the current one.
        """
        service = tx.lock_service(host)
        transaction.check_right(host, epoch, service)
        own: list[str] = []
        for some in connection.chunks(sorted(uuids)):
            own += tx.conn.scalars(
                sa.select(_nodes.uuid)
                .where(
                    _nodes.uuid.in_(some),
                    _nodes.host == host,
                    _nodes.deleted_at.is_(None),
                )
                .order_by(_nodes.uuid)
                .with_for_update()
            )
        locked = self._cell.lock(tx.conn, own)
        free = [
            uuid for uuid in own if locked.against_claim(uuid, host) is None
        ]
        locked.assign(free, host)
        return free
