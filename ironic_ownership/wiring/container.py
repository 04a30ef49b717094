"""Container of the objects of one process, each built on first use."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from oslo_config import cfg

from ironic_ownership import plugins
from ironic_ownership.conf import database_url
from ironic_ownership.contracts import (
    exceptions,
    foreign_errors,
    model,
)
from ironic_ownership.contracts.companion import Companion
from ironic_ownership.contracts.inventory import Inventory
from ironic_ownership.contracts.notifications import Notifier
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.membership.backend_guard import GuardedBackend
from ironic_ownership.engine.ports import (
    Moves,
    NodeImports,
    Outbox,
    Records,
    Removals,
    Reservations,
)
from ironic_ownership.settings import (
    Settings,
    backend,
    policy_names,
    read,
)
from ironic_ownership.wiring import member_policies

if TYPE_CHECKING:
    from ironic_ownership.db import connection
    from ironic_ownership.db.companion import Companion as Transactions
    from ironic_ownership.engine.deletion.missing_nodes import Limits


class Container:
    """The objects of one process, wired by its configuration.

    :param conf: a parsed configuration with the core options.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf
        self.on_nodes_read: Callable[[int], object] = int
        """Receives the number of nodes of a list while Ironic is read."""
        self.options_lock = threading.Lock()
        """Held while options are read: that registers some of them."""

    @functools.cached_property
    def _client_settings(self) -> Settings:
        # A process that only reads and commands.
        return read(self.conf, serves=False)

    @functools.cached_property
    def settings(self) -> Settings:
        """The validated configuration of a host process.

        :raises ConfigurationError: listing every fault.
        """
        return read(self.conf)

    @property
    def policy_names(self) -> Sequence[str]:
        """The policies that the configuration names, valid or not."""
        return policy_names(self.conf)

    def may_import(self, policy: str) -> bool:
        """Tell whether this process may import a policy of that name.

        Members and clients name policies. That must not run the code of a
        package that is merely installed.
        """
        return (
            plugins.is_own(plugins.POLICIES, policy)
            or plugins.is_loaded(plugins.POLICIES, policy)
            or policy in self.conf.ownership.importable_policies
            or policy in self.policy_names
        )

    def interpret(
        self, advertised: model.MemberSettings
    ) -> policy_set.PolicySet | None:
        """Build the policies of any member; see ``member_policies``.

        :returns: ``None`` also if this process may not import one of them.
        """
        if all(self.may_import(p.name) for p in advertised.policies):
            return member_policies.interpret(advertised)
        return None

    @property
    def backend_name(self) -> str:
        """The membership backend that the configuration names."""
        return str(self.conf.ownership.backend).strip()

    @functools.cached_property
    def _database(self) -> connection.Database:
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

    @functools.cached_property
    def companion(self) -> Companion | None:
        """The other tables, without a check of the schema of the records.

        ``None`` if none are configured.
        """
        opened = (
            module.open_companion(self.conf, lambda: self._database)
            for name, module in plugins.loaded_companions().items()
            if name in self.conf
        )
        return next(filter(None, opened), None)

    @property
    def _companion(self) -> Transactions | None:
        return self.companion.transactions if self.companion else None

    @functools.cached_property
    def records(self) -> Records:
        """The records, without a check of their schema.

        :raises RecordsError: if the connection's URL can't work.
        """
        from ironic_ownership.db.records import SqlRecords

        return SqlRecords(self._database, self._companion)

    def ready_records(self, *, create: bool = False) -> Records:
        """Return the records with this release's schema in place.

        Upgrades an SQLite database.

        :param create: also creates one: for a service, and not for commands.
        :raises RecordsError: if the database can't be used.
        """
        from ironic_ownership.db import schema

        schema.ensure(self._database, create=create)
        return self.records

    @property
    def outbox(self) -> Outbox:
        """The events to send, without a check of the schema."""
        from ironic_ownership.db.outbox import SqlOutbox

        return SqlOutbox(self._database)

    def notifier(self) -> Notifier | None:
        """Return a client of the message broker, if one is configured.

        :raises ConfigurationError: if its options can't work.
        """
        from ironic_ownership.clients import notifications

        return notifications.open_notifier(self.conf, self.service)

    def ready_removals(self) -> Removals:
        """Return the deletions by operators, with the schema in place."""
        from ironic_ownership.db.removals import SqlRemovals

        self.ready_records()
        return SqlRemovals(self._database, self._companion)

    def ready_node_imports(self) -> NodeImports:
        """Return the imports by operators, with the schema in place."""
        from ironic_ownership.db.node_imports import SqlNodeImports

        self.ready_records()
        return SqlNodeImports(self._database, self._companion)

    def ready_moves(self) -> Moves:
        """Return the moves, with the schema in place."""
        from ironic_ownership.db.moves import SqlMoves

        self.ready_records()
        return SqlMoves(self._database, self._companion)

    def ready_reservations(self) -> Reservations:
        """Return the reservations, with the schema in place."""
        self.ready_records()
        return self.reservations

    @functools.cached_property
    def reservations(self) -> Reservations:
        """The reservations, without a check of their schema."""
        from ironic_ownership.db.reservations import SqlReservations

        return SqlReservations(self._database, self._companion)

    @functools.cached_property
    def backend(self) -> GuardedBackend:
        """The membership backend, not joined.

        :raises ConfigurationError: if it can't be used.
        """
        target, values = backend(self.conf)
        try:
            opened = target(
                values,
                member_ttl=self.conf.membership.member_ttl,
                call_timeout=self.conf.membership.heartbeat_interval,
            )
        except exceptions.OwnershipError:
            raise
        except BaseException as exc:
            if foreign_errors.is_interrupt(exc):
                raise
            raise plugins.failed(
                plugins.BACKENDS, self.backend_name, exc
            ) from exc
        return GuardedBackend(
            opened, plugins.named(plugins.BACKENDS, self.backend_name)
        )

    @functools.cached_property
    def inventory(self) -> Inventory:
        """The client of Ironic; sends no request yet.

        :raises IronicError: if its options can't work.
        """
        return self.inventory_of()

    def inventory_of(self, request_id: str | None = None) -> Inventory:
        """Return a new client of Ironic, which sends this request id."""
        from ironic_ownership.clients.ironic import client

        opened = client.open_inventory(
            self.conf, request_id, plugins.node_fields, self.on_nodes_read
        )
        opened.outage_counts = (
            self.conf.ownership.without_conductors == 'out_of_service'
        )
        return opened

    def placement_of(self, request_id: str | None = None) -> Placement | None:
        """Return a client of Placement; ``None`` if that is not configured.

        :raises OwnershipError: if its options can't work.
        """
        from ironic_ownership.clients.placement import options

        return options.open_placement(self.conf, request_id)

    @property
    def reports_inventory(self) -> bool:
        """True if this configuration reports nodes to Placement.

        Never next to a Nova cell: nova-compute reports them.

        :raises ConfigurationError: if its options can't work.
        """
        from ironic_ownership.clients.placement import options

        return self.companion is None and options.reports(self.conf)

    @property
    def reports_status(self) -> bool:
        """True if nodes of services that do not serve are not offered.

        Not next to a Nova cell, whose scheduler sees to that; errors as for
        :attr:`reports_inventory`.
        """
        from ironic_ownership.clients.placement import options

        return self.companion is None and options.reports_status(self.conf)

    @functools.cached_property
    def scope(self) -> model.Scope:
        """The scope of the policies configured here.

        :raises ConfigurationError: if the configuration can't be used.
        """
        return self.policies.scope

    @functools.cached_property
    def policies(self) -> policy_set.PolicySet:
        """The policies configured here; errors as for :attr:`scope`."""
        return self._client_settings.tuning.policies

    @property
    def limits(self) -> Limits:
        """The limits of a plausible loss; errors as for :attr:`scope`."""
        return self._client_settings.tuning.limits

    @property
    def permission(self) -> float:
        """Seconds for which an unconfirmed permission may last, anywhere.

        A heartbeat interval, which each process has for itself: a third of
        the time to live at most, and that is the same for all.
        """
        longest: float = self.conf.membership.member_ttl / 3
        return longest

    @property
    def own_scope_only(self) -> bool:
        """True if deployed nodes outside of a service's scope are refused."""
        return bool(self.conf.ownership.scope_of_deployed_nodes == 'own')

    @property
    def service(self) -> str:
        """The service configured here, which may run elsewhere.

        :raises ConfigurationError: if the configuration can't be used.
        """
        return self._client_settings.host

    def close(self) -> None:
        """Close all connections. Idempotent."""
        for name in ('backend', '_database'):
            opened = self.__dict__.get(name)
            if opened is not None:
                opened.close()
