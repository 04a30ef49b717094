"""Steps that the transactions share: locks, checks of the writer, events.

Every transaction locks in the same order, so that two of them rarely
deadlock: services by host, compute nodes by uuid, then all other rows.

A lock of a row is one server's. Where several servers accept writes, two
transactions exclude each other only if both *write* a row. So a transaction
writes each service from whose row it decides, and with it what belongs to the
service: the owner of a node changes only together with the row of its old
and of its new owner, and what happens to an unowned node writes the node's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.db import change_set, connection, dialects, rows, tables
from ironic_ownership.db.linked_tables import LinkedTables

P = ParamSpec('P')
S = TypeVar('S', bound='Port')
T = TypeVar('T')

_services = tables.services.c
_nodes = tables.compute_nodes.c
_instances = tables.instances.c

RAISED: Mapping[str, Any] = {
    'revision': _services.revision + 1,
    'marked': _services.marked + 1,
}
"""Columns of a service whose row is written."""


def now_of(conn: sa.Connection) -> float:
    """Return the database's clock, in seconds since the epoch."""
    return float(conn.execute(sa.select(dialects.EpochSeconds())).scalar_one())


def mark(services: Mapping[str, change_set.ServiceState]) -> change_set.Row:
    """Return the columns with the mark of a transaction, for every record.

    A transaction raises the revision of each service from which it decides.
    When it changes what is on record for a node, it also writes a mark into
    that record, by which readers find it: one of these services, and the
    revision that the service gets. The row of the service is locked until the
    commit, so nothing else raises it between.

    One service is enough, whichever it is: a reader follows the revisions of
    all of them, and asks for the marks of each one that rose. So a mark under
    any service that rose in the same commit is found by the reader that sees
    the commit. A transaction that decides from no service raises one for its
    mark: :meth:`Transaction.lock_any_service`.

    ``services.marked`` rises with the revision, but not in releases that write
    no marks, which may run at the same time. So the difference of the two
    counts the changes that left none. As long as it is what it was, all
    changes since are marked; if it differs, a reader reads everything. It
    differs, too, after rows were purged (:meth:`Transaction.raise_unmarked`),
    and in the row of a service that was deleted and made again: its first
    revision contains the time, and its ``marked`` is 0.

    :param services: locked and raised by the transaction. Without any there
        is no mark: no service reads the records.
    """
    host = min(services, default=None)
    if host is None:
        return {}
    return {'revision_host': host, 'revision': services[host].revision}


def check_right(  # Model: IsCurrent
    host: str, epoch: int, service: change_set.ServiceState | None
) -> None:
    """Refuse a writer that is fenced or not the last one registered."""
    check_epoch(host, epoch, service.epoch if service else None)
    if service and service.fenced:
        raise _fenced(host, 'another service has fenced it')


def check_epoch(host: str, epoch: int, current: int | None) -> None:
    """Refuse a writer that is not the last one registered for its host."""
    if current is None:
        raise _fenced(host, 'its service is not registered')
    if current != epoch:
        raise _fenced(host, f'its epoch is {epoch}, the current one {current}')


def _fenced(host: str, what: str) -> exceptions.FencedError:
    return exceptions.FencedError(
        f'{host} has no right to write: {what}',
        hint='It has to join and register again',
    )


class Transaction:
    """One transaction that writes, and the steps that all of them share.

    :ivar conn: within the transaction.
    :ivar linked: tables that take part in the transactions of owners.
    """

    def __init__(
        self, conn: sa.Connection, linked: LinkedTables | None = None
    ) -> None:
        self.conn = conn
        self.linked = linked or LinkedTables()

    def now(self) -> float:
        """Return the database's clock, in seconds since the epoch."""
        return now_of(self.conn)

    def lock_services(
        self, hosts: Collection[str], *, write: bool = True
    ) -> dict[str, change_set.ServiceState]:
        """Lock the rows of services until the end of the transaction.

        :param write: raise their revisions as well; a caller that may end
            without a write does it when it writes.
        """
        found = self.conn.execute(
            sa.select(
                _services.host,
                _services.epoch,
                _services.fenced,
                _services.disabled,
                _services.forced_down,
                _services.away_until,
                _services.grace,
                _services.registered_at,
                _services.revision,
            )
            .where(_services.host.in_(sorted(hosts)))
            .order_by(_services.host)
            .with_for_update()
        ).all()
        # Where several servers accept writes, a lock alone excludes no other.
        if write:
            self.raise_revisions([row.host for row in found])
        return {
            row.host: rows.built(
                change_set.ServiceState,
                row,
                registered=row.registered_at is not None,
                # As :meth:`raise_revisions` leaves it, now or later.
                revision=row.revision + 1,
            )
            for row in found
        }

    def lock_any_service(
        self, *, write: bool = True
    ) -> dict[str, change_set.ServiceState]:
        """Lock and write the row of one service, for a mark under it.

        For a transaction that decides from no service.

        :returns: nothing if there is no service.
        """
        first = sa.select(sa.func.min(_services.host))
        while host := self.conn.scalar(first):
            # Unless it was deleted in between.
            if found := self.lock_services({host}, write=write):
                return found
        return {}

    def lock_service(self, host: str) -> change_set.ServiceState | None:
        """Lock and write the row of one service."""
        return self.lock_services({host}).get(host)

    def first_revision(self) -> int:
        """Return a revision for a service without a row: none it had."""
        # Milliseconds: an earlier row of the host did not rise that fast.
        return int(self.now() * 1000)

    def insert_service(self, host: str, **values: Any) -> None:
        """Insert the row of a service, by default of one without an epoch."""
        flags = dict.fromkeys(('disabled', 'forced_down', 'fenced'), False)
        row = {'host': host, 'epoch': 0, 'settings': '', **flags, **values}
        self.add_rows(tables.services, [row])

    def raise_revisions(self, hosts: Collection[str]) -> None:
        """Write the rows of services from which the transaction decides.

        The transaction marks every record that it changes: see :func:`mark`.
        """
        self.update_rows(_services.host, hosts, **RAISED)

    def raise_unmarked(self) -> None:
        """Let every reader read everything: what changes is not marked."""
        found = self.lock_any_service(write=False)
        # ``marked`` stays, and the difference makes readers read everything.
        self.update_rows(
            _services.host, found, revision=_services.revision + 1
        )

    def fence(self, hosts: Collection[str]) -> None:
        """Take the right to write from services, whose rows are locked."""
        self.update_rows(
            _services.host, hosts, epoch=_services.epoch + 1, fenced=True
        )

    def update_rows(
        self,
        column: sa.Column[Any],
        among: Collection[str],
        *also: sa.ColumnElement[bool],
        **values: Any,
    ) -> int:
        """Write the rows whose column has one of the values, in chunks.

        :returns: their number.
        """
        return sum(
            self.conn.execute(
                sa.update(column.table)
                .where(column.in_(some), *also)
                .values(**values)
            ).rowcount
            for some in connection.chunks(among)
        )

    def update_service(self, host: str, **values: Any) -> None:
        """Write columns of the row of a service, which is locked."""
        self.update_rows(_services.host, [host], **RAISED, **values)

    def lock_nodes(
        self, uuids: Collection[str]
    ) -> tuple[dict[str, change_set.Row], dict[str, str]]:
        """Lock the records of nodes, deleted or not.

        :returns: the records, and the open instances, by the node's uuid.
        """
        found: dict[str, change_set.Row] = {}
        instances: dict[str, str] = {}
        # Sorted, so that transactions lock nodes in the same order.
        for some in connection.chunks(sorted(uuids)):
            for row in self.conn.execute(
                sa.select(tables.compute_nodes)
                .where(_nodes.uuid.in_(some))
                .order_by(_nodes.uuid)
                .with_for_update()
            ):
                found[row.uuid] = dict(row._mapping)
            # Not locked: an instance changes only under the lock of its node.
            for row in self.conn.execute(
                sa.select(_instances.open_node_uuid, _instances.uuid).where(
                    _instances.open_node_uuid.in_(some)
                )
            ):
                instances[row.open_node_uuid] = row.uuid
        return found, instances

    def lock_recorded(
        self, uuids: Collection[str]
    ) -> tuple[dict[str, change_set.Row], dict[str, str]]:
        """Lock nodes in the same way; return those on record only."""
        found, instances = self.lock_nodes(uuids)
        on_record = {u: r for u, r in found.items() if r['deleted_at'] is None}
        return on_record, instances

    def update_node(self, uuid: str, **values: Any) -> None:
        """Write columns of one node, whose record is locked."""
        self.update_rows(_nodes.uuid, [uuid], **values)

    def end_release(
        self,
        request_id: str,
        uuids: Collection[str],
        *also: sa.ColumnElement[bool],
    ) -> None:
        """Let the policies decide the owner of released nodes.

        Nodes that this request does not hold any more are not changed.
        """
        self.update_rows(
            _nodes.uuid,
            sorted(uuids),
            _nodes.held_by == request_id,
            *also,
            held_by=None,
            held_until=None,
        )

    def close_instances(self, uuids: Collection[str], now: float) -> None:
        """Close the open instances of some nodes, whose records are locked."""
        self.update_rows(
            _instances.open_node_uuid,
            uuids,
            open_node_uuid=None,
            deleted_at=now,
        )

    def add_event(
        self,
        kind: EventKind,
        origin: Origin,
        at: float | None = None,
        **values: str | None,
    ) -> None:
        """Insert one event; the parameters are those of ``rows.new_event``.

        :param at: by default now.
        """
        at = self.now() if at is None else at
        event = rows.new_event(at, origin, kind, **values)
        self.add_rows(tables.events, [event])

    def add_rows(
        self, table: sa.Table, added: Sequence[change_set.Row]
    ) -> None:
        """Insert any number of rows with the same columns."""
        # Without any, SQLAlchemy would insert one of defaults.
        if added:
            self.conn.execute(sa.insert(table), added)


class Port:
    """Base of the ports; the database has this release's schema.

    :param linked: takes part in the transactions of owners.
    """

    def __init__(
        self,
        database: connection.Database,
        linked: LinkedTables | None = None,
    ) -> None:
        self._database = database
        self._linked = linked or LinkedTables()

    def now(self) -> float:
        """Return the database's clock, in seconds since the epoch."""
        return self._database.read(now_of)

    def _transact(self, work: Callable[[Transaction], T]) -> T:
        return self._database.write(
            lambda conn: work(Transaction(conn, self._linked))
        )


def writes(
    method: Callable[Concatenate[S, Transaction, P], T],
) -> Callable[Concatenate[S, P], T]:
    """Run a method of a port as a transaction: its first argument."""

    @functools.wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._transact(lambda tx: method(self, tx, *args, **kwargs))

    # Its callers give one argument less.
    known = inspect.signature(method)
    first, _, *rest = known.parameters.values()
    vars(run)['__signature__'] = known.replace(parameters=[first, *rest])
    return run


def method(
    function: Callable[Concatenate[Transaction, P], T],
) -> Callable[Concatenate[Port, P], T]:
    """Make a function a method of a port, as one transaction that writes."""

    # In its signature, the transaction stands for the port.
    @functools.wraps(function)
    def run(self: Port, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._transact(lambda tx: function(tx, *args, **kwargs))

    return run
