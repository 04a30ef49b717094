"""The records on SQL: what the port asks, as transactions.

Source: the promises of the port, ``contracts.records``. The rules
of a change are in ``ledger``, its statements in ``transaction``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import sqlalchemy as sa

from ironic_ownership.contracts import model, records
from ironic_ownership.db import (
    connection,
    queries,
    registration,
    rows,
    service_admin,
    tables,
    transaction,
)

_services = tables.services.c


class SqlRecords(records.Records):
    """Services, compute nodes, instances and events in one SQL database.

    :param database: an open database with this release's schema.
    """

    def __init__(self, database: connection.Database) -> None:
        self._database = database

    def register(
        self,
        host: str,
        settings: model.MemberSettings,
        *,
        incarnation: str | None = None,
        alive: Collection[str] = (),
    ) -> int:
        """Create or renew the row of a service and raise its epoch."""
        return self._database.write(
            lambda conn: registration.register(
                conn, host, settings, incarnation, alive
            )
        )

    def retire(self, host: str, epoch: int, *, grace: float) -> None:
        """Give up the active place and the right to write."""
        self._database.write(
            lambda conn: registration.retire(conn, host, epoch, grace)
        )

    def fail_over(
        self, host: str, *, incarnation: str, actor: str
    ) -> model.Service:
        """Name the process that is to be active, and fence the one that is."""
        return self._database.write(
            lambda conn: registration.fail_over(conn, host, incarnation, actor)
        )

    def set_service(
        self,
        host: str,
        *,
        actor: str,
        disabled: bool | None = None,
        disabled_reason: str | None = None,
        forced_down: bool | None = None,
    ) -> model.Service:
        """Change what an operator decides about a service."""
        return self._database.write(
            lambda conn: service_admin.change(
                conn, host, actor, disabled, disabled_reason, forced_down
            )
        )

    def delete_service(self, host: str, *, actor: str) -> None:
        """Delete a service that nothing names any more."""
        self._database.write(
            lambda conn: service_admin.delete(conn, host, actor)
        )

    def advertise(
        self, host: str, epoch: int, settings: model.MemberSettings
    ) -> None:
        """Store changed settings of a registered service."""
        self._change_service(host, epoch, settings=settings.to_json())

    def report(
        self,
        host: str,
        epoch: int,
        *,
        view_checksum: str,
        config_error: str | None,
    ) -> None:
        """Store what a registered service says of itself."""
        self._change_service(
            host,
            epoch,
            view_checksum=view_checksum,
            config_error=config_error,
        )

    def _change_service(
        self, host: str, epoch: int, **values: str | None
    ) -> None:
        def work(conn: sa.Connection) -> None:
            service = transaction.lock_service(conn, host)
            transaction.check_right(host, epoch, service)
            conn.execute(
                sa.update(tables.services)
                .where(_services.host == host)
                .values(**values)
            )

        self._database.write(work)

    def services(self) -> Sequence[model.Service]:
        """Return all services, sorted by host. One query."""

        def work(conn: sa.Connection) -> list[model.Service]:
            found = conn.execute(queries.SERVICES)
            return [rows.service(row) for row in found]

        # Databases disagree about the order of letters; Python does not.
        return sorted(self._database.read(work), key=lambda s: s.host)

    def compute_nodes(self) -> Sequence[model.ComputeNode]:
        """Return the compute nodes of all services. One query."""
        return self._select(queries.COMPUTE_NODES)

    def compute_nodes_near(
        self, host: str, scope: model.Scope
    ) -> Sequence[model.ComputeNode]:
        """Return those of one host, and those last seen in a scope."""
        return [
            node
            for node in self._select(queries.near(host, scope))
            # MariaDB takes 'a' and 'a ' for equal; Ironic and we do not.
            if node.host == host
            or scope.matches(node.shard, node.conductor_group)
        ]

    def compute_nodes_by_uuid(
        self, uuids: Collection[str]
    ) -> Sequence[model.ComputeNode]:
        """Return those of the given uuids that exist."""
        node_uuid = tables.compute_nodes.c.uuid
        found: list[model.ComputeNode] = []
        for some in queries.parts(uuids):
            found += self._select(
                queries.COMPUTE_NODES.where(node_uuid.in_(some))
            )
        return found

    def _select(
        self, statement: sa.Select[tuple[object, ...]]
    ) -> list[model.ComputeNode]:
        def work(conn: sa.Connection) -> list[model.ComputeNode]:
            return list(map(rows.compute_node, conn.execute(statement)))

        return self._database.read(work)

    def counts(self) -> dict[str | None, tuple[int, int]]:
        """Count compute nodes by owner: (all, those with an instance)."""

        def work(
            conn: sa.Connection,
        ) -> dict[str | None, tuple[int, int]]:
            found = conn.execute(queries.COUNTS)
            return {host: (nodes, used) for host, nodes, used in found}

        return self._database.read(work)

    def apply(
        self,
        host: str,
        epoch: int,
        changes: Sequence[records.Change],
        *,
        confirm: Callable[[], object] | None = None,
    ) -> records.Outcome:
        """Carry out changes as one transaction."""

        def work(conn: sa.Connection) -> records.Outcome:
            outcome = transaction.apply(conn, host, epoch, changes)
            if confirm is not None:
                confirm()
            return outcome

        return self._database.write(work)

    def events(
        self, *, node_uuid: str | None = None, limit: int = 100
    ) -> Sequence[model.Event]:
        """Return the newest events, newest first."""
        table = tables.events
        statement = sa.select(table).order_by(table.c.id.desc()).limit(limit)
        if node_uuid is not None:
            statement = statement.where(table.c.node_uuid == node_uuid)

        def work(conn: sa.Connection) -> list[model.Event]:
            return [rows.event(row) for row in conn.execute(statement)]

        return self._database.read(work)

    def close(self) -> None:
        """Free connections. Idempotent."""
        self._database.close()
