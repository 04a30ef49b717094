"""The database of the records, and its stores, each opened on first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from oslo_config import cfg

from ironic_ownership import plugins
from ironic_ownership.conf import database_url
from ironic_ownership.contracts.records import Companion

if TYPE_CHECKING:
    from ironic_ownership.db import connection
    from ironic_ownership.engine.ports import (
        Moves,
        NodeImports,
        Outbox,
        Records,
        Removals,
        Reservations,
    )

T = TypeVar('T')


class built(Generic[T]):  # noqa: N801 - a property, as functools has them
    """A thing that is built on first use, by one thread for all."""

    def __init__(self, build: Callable[[Any], T]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, wired: Stores, owner: type) -> T:
        with wired.lock:
            if self._name not in wired.__dict__:
                wired.__dict__[self._name] = self._build(wired)
            found: T = wired.__dict__[self._name]
        return found


class Stores:
    """The database of a process, and what it keeps there.

    :param conf: a parsed configuration with the core options.
    :ivar lock: held while something is built, and while options are read:
        that registers some of them.
    :ivar waits: whether stores are opened before the schema is in place, as
        a service does that waits for its database.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf
        self.lock = threading.RLock()
        self.waits = False

    @built
    def database(self) -> connection.Database:
        """The database, without a check of its schema.

        :raises RecordsError: if the connection's URL can't work.
        """
        from ironic_ownership.db import connection

        group, membership = self.conf.database, self.conf.membership
        # The server has to roll back the transaction of a frozen process
        # before other members may declare it dead.
        before_death = (
            membership.member_ttl
            - membership.heartbeat_interval
            - membership.fence_margin
        )
        return connection.open_database(
            database_url(self.conf),
            idle_timeout=max(1.0, min(connection.LONGEST_IDLE, before_death)),
            **connection.engine_options(group),
        )

    @built
    def companion(self) -> Companion | None:
        """The other tables, without a check of the schema of the records.

        ``None`` if none are configured.
        """
        opened = (
            module.open_companion(self.conf, lambda: self.database)
            for name, module in plugins.loaded_companions().items()
            if name in self.conf
        )
        return next(filter(None, opened), None)

    def ensure_schema(self, *, create: bool = False) -> None:
        """Check that this release's schema is in place; upgrade SQLite's.

        :param create: also creates one: for a service, and not for commands.
        :raises RecordsError: if the database can't be used.
        """
        from ironic_ownership.db import schema

        schema.ensure(self.database, create=create)

    def _open(self, store: Callable[..., T]) -> T:
        companion = self.companion
        if not self.waits:
            self.ensure_schema()
        return store(self.database, companion and companion.transactions)

    @built
    def records(self) -> Records:
        """The records."""
        from ironic_ownership.db.records import SqlRecords

        return self._open(SqlRecords)

    @built
    def moves(self) -> Moves:
        """The moves."""
        from ironic_ownership.db.moves import SqlMoves

        return self._open(SqlMoves)

    @built
    def removals(self) -> Removals:
        """The deletions by operators."""
        from ironic_ownership.db.removals import SqlRemovals

        return self._open(SqlRemovals)

    @built
    def node_imports(self) -> NodeImports:
        """The imports by operators."""
        from ironic_ownership.db.node_imports import SqlNodeImports

        return self._open(SqlNodeImports)

    @built
    def reservations(self) -> Reservations:
        """The reservations."""
        from ironic_ownership.db.reservations import SqlReservations

        return self._open(SqlReservations)

    @property
    def outbox(self) -> Outbox:
        """The events to send."""
        from ironic_ownership.db.outbox import SqlOutbox

        return SqlOutbox(self.database)

    @property
    def order_turn(self) -> Outbox:
        """The turn to carry out standing orders."""
        from ironic_ownership.db.outbox import SqlOrderTurn

        return SqlOrderTurn(self.database)
