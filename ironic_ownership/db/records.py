"""The records port on SQL: each call is one transaction.

The rules of a change are in ``change_set``.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import conditions, model, records
from ironic_ownership.contracts.conditions import Condition, ConditionReport
from ironic_ownership.contracts.events import (
    EVERY_EVENT,
    EventFilter,
    EventPosition,
)
from ironic_ownership.contracts.records import EVERY_NODE, NodeFilter
from ironic_ownership.db import (
    change_transaction,
    connection,
    node_admin,
    pauses,
    queries,
    registration,
    rows,
    service_admin,
    tables,
    transaction,
)
from ironic_ownership.db.dialects import Unindexed
from ironic_ownership.db.transaction import Transaction

PAGE = 2000
"""Records that are read at once where many of them are kept."""

SERVICES = 50
"""Services whose changes are read with one query."""


class SqlRecords(transaction.Port):
    """Services, compute nodes, instances and events.

    ``host`` is a canonical name, ``actor`` the client, for the event, and
    ``request_id`` that of the operator's request. Threading: any thread.
    Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer.
    """

    register = transaction.method(registration.register)
    retire = transaction.method(registration.retire)
    fail_over = transaction.method(registration.fail_over)
    record_death = transaction.method(registration.record_death)
    set_service = transaction.method(service_admin.change)
    delete_service = transaction.method(service_admin.delete)
    begin_pause = transaction.method(pauses.begin)
    end_pauses = transaction.method(pauses.end)
    give_order = transaction.method(service_admin.give_order)
    note_fence = transaction.method(service_admin.note_fence)
    apply = transaction.method(change_transaction.apply)
    settle = transaction.method(change_transaction.settle)
    begin_deletion = transaction.method(node_admin.begin_deletion)
    remove = transaction.method(node_admin.remove)
    forget_instance = transaction.method(node_admin.forget_instance)
    import_nodes = transaction.method(node_admin.import_nodes)

    def advertise(
        self, host: str, epoch: int, settings: model.MemberSettings
    ) -> None:
        """Store changed settings of a registered service.

        :raises FencedError: if the epoch is no longer the current one.
        """
        self._change_service(host, epoch, settings=settings.to_json())

    def report(
        self,
        host: str,
        epoch: int,
        *,
        view_checksum: str,
        config_error: str | None,
    ) -> None:
        """Store the status of a registered service.

        :param view_checksum: of the view it last saw.
        :param config_error: why it does not act by its configuration.
        :raises FencedError: if the epoch is no longer the current one.
        """
        self._change_service(
            host, epoch, view_checksum=view_checksum, config_error=config_error
        )

    @transaction.writes
    def _change_service(
        self, tx: Transaction, /, host: str, epoch: int, **values: Any
    ) -> None:
        service = tx.lock_service(host)
        transaction.check_right(host, epoch, service)
        tx.update_service(host, **values)

    def services(self) -> Sequence[model.Service]:
        """Return all services, sorted by host. One query."""
        found = self._database.select(
            self._linked.services.select(), rows.service
        )
        # Databases disagree about the order of letters; Python does not. Of
        # several in a cell that differ in case only, one that is up counts.
        found = sorted(found, key=lambda s: (s.host, s.up_in_nova))
        return list({s.host: s for s in found}.values())

    def condition_reports(self) -> dict[str, ConditionReport]:
        """Return the last report of each service that has one. One query."""
        found = self._database.select(
            queries.CONDITION_REPORTS, rows.condition_report
        )
        return {report.host: report for report in found}

    @transaction.writes
    def report_conditions(
        self,
        tx: Transaction,
        /,
        host: str,
        incarnation: str,
        found: Sequence[Condition],
        *,
        interval: float,
        at: float,
    ) -> bool:
        """Store the conditions of a process of a service, in place of others.

        Needs no right to write: it decides nothing, so it raises no revision.
        It waits for no other transaction, and none waits for it.

        :param interval: seconds after which it reports again.
        :param at: the time now, on the clock of ``found``.
        :returns: whether they are stored. Those of another process stay if
            it is the active one, or still reports.
        """
        reports, services = tables.condition_reports.c, tables.services.c
        now = tx.now()
        before = tx.conn.execute(
            queries.CONDITION_REPORTS.where(reports.host == host)
        ).first()
        if before is not None and before.incarnation != incarnation:
            active = tx.conn.execute(
                sa.select(services.incarnation).where(services.host == host)
            ).scalar()
            if (
                active != incarnation
                and not rows.condition_report(before).is_overdue
            ):
                return False
        values = {
            'incarnation': incarnation,
            'reported_at': now,
            'due_after': interval,
            'conditions': conditions.to_json(
                one.shifted(now - at) for one in found
            ),
        }
        if before is None:
            added = {'host': host, **values}
            tx.add_rows(tables.condition_reports, [added])
        else:
            tx.update_rows(reports.host, [host], **values)
        return True

    def pauses(self) -> Sequence[records.Pause]:
        """Return the pauses that last, the next to end first. One query."""
        return self._database.select(pauses.CURRENT, pauses.read)

    def service(self, host: str) -> model.Service | None:
        """Return one service, if it exists. One query, by the key."""
        statement = self._linked.services.one(host)
        found = self._database.select(statement, rows.service)
        return max(found, key=lambda s: s.up_in_nova, default=None)

    def service_and_node(
        self, host: str, uuid: str
    ) -> tuple[model.Service | None, model.ComputeNode | None]:
        """Return a service and the record of a node, of the same moment.

        One query. Two times ``None`` if there is no such service.
        """
        statement = self._linked.services.with_node(host, uuid)
        found = self._database.select(statement, rows.service_and_node)
        return max(found, key=lambda f: f[0].up_in_nova, default=(None, None))

    def compute_nodes(
        self, chosen: NodeFilter = EVERY_NODE
    ) -> Sequence[model.ComputeNode]:
        """Return the compute nodes, of all services by default. One query."""
        found = self._database.select(
            queries.chosen(chosen), rows.compute_node
        )
        # MariaDB takes 'a' and 'a ' for equal; Ironic and we do not.
        return [*filter(chosen.matches, found)]

    def compute_nodes_page(
        self, chosen: NodeFilter, *, after: str = '', limit: int
    ) -> Sequence[model.ComputeNode]:
        """Return one page of compute nodes, in the order of their uuids.

        :param after: uuid with which the page before ended.
        :param limit: size of the page; a smaller one is the last.
        """
        statement = queries.chosen(chosen, Unindexed)
        found = self._walk(statement, limit, after)
        return [*itertools.islice(filter(chosen.matches, found), limit)]

    def in_reach(
        self, host: str, scope: model.Scope
    ) -> Iterator[model.ComputeNode]:
        """Yield those of one host or last seen in a scope, page by page.

        They are not all of one moment.
        """
        for one in self._walk(queries.in_reach(host, scope), PAGE):
            if one.host == host or scope.matches(
                one.shard, one.conductor_group
            ):
                yield one

    def _walk(
        self, those: sa.Select[Any], size: int, after: str = ''
    ) -> Iterator[model.ComputeNode]:
        """Yield compute nodes in the order of their uuids, page by page."""
        while True:
            statement = queries.page(those, after, size)
            page = self._database.select(statement, rows.compute_node)
            yield from page
            if len(page) < size:
                return
            after = page[-1].uuid

    def compute_nodes_changed(
        self, since: Mapping[str, int]
    ) -> Iterator[Mapping[str, model.ComputeNode | None]]:
        """Yield pages of those that changed, by uuid: ``None`` if deleted.

        :param since: last known revisions of services that changed.
        """
        waiting = list(connection.chunks(sorted(since), SERVICES))
        while waiting:
            hosts = waiting.pop(0)
            some = {host: since[host] for host in hosts}
            page, last = self._changed(queries.changed(some, PAGE))
            if last is not None and len(hosts) > 1:
                # One by one: their revisions have an order, and an index.
                waiting += [[host] for host in hosts]
                continue
            yield page
            while last is not None:
                following = queries.changed_after(hosts[0], *last, PAGE)
                page, last = self._changed(following)
                yield page

    def _changed(
        self, statement: sa.Select[Any]
    ) -> tuple[dict[str, model.ComputeNode | None], tuple[int, str] | None]:
        """Return a page, and the place where a full one ends."""
        found = self._database.select(statement, rows.changed_node)
        last = found[-1][:2] if len(found) == PAGE else None
        return {uuid: record for _, uuid, record in found}, last

    def compute_nodes_by_uuid(
        self, uuids: Collection[str]
    ) -> Sequence[model.ComputeNode]:
        """Return those of the given uuids that exist."""
        node_uuid = tables.compute_nodes.c.uuid
        found: list[model.ComputeNode] = []
        for some in connection.chunks(uuids):
            found += self._database.select(
                queries.COMPUTE_NODES.where(node_uuid.in_(some)),
                rows.compute_node,
            )
        return found

    def node_of_instance(self, instance_uuid: str) -> str | None:
        """Return the uuid of the node with an open instance. One query.

        The last one, if a service that is dead has not closed it on another.
        """
        instances = tables.instances.c
        statement = (
            sa.select(instances.open_node_uuid)
            .where(
                instances.uuid == instance_uuid,
                instances.open_node_uuid.is_not(None),
            )
            .order_by(instances.created_at.desc(), instances.id.desc())
        )
        return self._database.read(lambda conn: conn.scalar(statement))

    def counts(self) -> dict[str | None, tuple[int, int]]:
        """Count compute nodes by owner: (all, those with an instance)."""
        counted: dict[str | None, tuple[int, int]] = {}
        for one in self.tallies():
            nodes, used = counted.get(one.host, (0, 0))
            counted[one.host] = nodes + one.nodes, used + one.instances
        return counted

    def tallies(self) -> Sequence[records.Tally]:
        """Count compute nodes by owner, reason and former owner."""
        return self._database.select(
            queries.COUNTS, lambda row: records.Tally(*tuple[Any, ...](row))
        )

    def events(
        self,
        chosen: EventFilter = EVERY_EVENT,
        *,
        before: EventPosition | None = None,
        limit: int = 100,
    ) -> Sequence[model.Event]:
        """Return the newest events, newest first: by time, then by id.

        :param before: only those that follow this place in the list.
        """
        statement = queries.events(chosen, before).limit(limit)
        return self._database.select(statement, rows.event)

    def close(self) -> None:
        """Free connections. Idempotent."""
        self._database.close()
