"""The objects of one process, each made when it is first asked for."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oslo_config import cfg

from ironic_ownership import plugins, settings
from ironic_ownership.contracts import backend, model
from ironic_ownership.contracts import inventory as inventory_
from ironic_ownership.contracts import moves as moves_
from ironic_ownership.contracts import placement as placement_
from ironic_ownership.contracts import records as records_
from ironic_ownership.contracts import removals as removals_
from ironic_ownership.contracts import reservations as reservations_
from ironic_ownership.engine.deciding import policy_set

if TYPE_CHECKING:
    from ironic_ownership.db import connection
    from ironic_ownership.engine.hosting import host, reload
    from ironic_ownership.engine.reservations import reserving


class Wiring:
    """The objects of one process, wired by its configuration.

    :param conf: a parsed configuration with the core options.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf
        # Reading options registers some of them, so threads take turns.
        self.opening = threading.Lock()

    @functools.cached_property
    def _looking(self) -> settings.Settings:
        """The configuration of a process that only looks."""
        return settings.read(self.conf, serves=False)

    @functools.cached_property
    def settings(self) -> settings.Settings:
        """The validated configuration of a host process.

        :raises ConfigurationError: listing every fault.
        """
        return settings.read(self.conf)

    @property
    def policy_names(self) -> Sequence[str]:
        """The policies that the configuration names, whatever they are."""
        names: Sequence[str] = self.conf.ownership.policies
        return names

    @property
    def backend_name(self) -> str:
        """The membership backend that the configuration names."""
        return str(self.conf.ownership.backend).strip()

    @functools.cached_property
    def _database(self) -> connection.Database:
        from ironic_ownership.db import connection

        group, membership = self.conf.database, self.conf.membership
        # A process that freezes while it writes has to be undone by the
        # server before the others may take it for dead.
        before_death = (
            membership.member_ttl
            - membership.heartbeat_interval
            - membership.fence_margin
        )
        return connection.open_database(
            group.connection,
            idle_timeout=max(1.0, min(connection.LONGEST_IDLE, before_death)),
            **connection.engine_options(group),
        )

    @functools.cached_property
    def records(self) -> records_.Records:
        """The records, whose schema nobody has looked at yet.

        :raises RecordsError: if the connection's URL can't work.
        """
        from ironic_ownership.db import records as sql

        return sql.SqlRecords(self._database)

    def ready_records(self) -> records_.Records:
        """Return the records with this release's schema in place.

        An SQLite database is created and upgraded on the way.

        :raises RecordsError: if the database can't be used.
        """
        from ironic_ownership.db import schema

        schema.ensure(self._database)
        return self.records

    def ready_removals(self) -> removals_.Removals:
        """Return the deletions by operators beside :meth:`ready_records`."""
        from ironic_ownership.db import removals as sql

        self.ready_records()
        return sql.SqlRemovals(self._database)

    def ready_moves(self) -> moves_.Moves:
        """Return the moves beside :meth:`ready_records`."""
        from ironic_ownership.db import moves as sql

        self.ready_records()
        return sql.SqlMoves(self._database)

    def ready_reservations(self) -> reservations_.Reservations:
        """Return the reservations beside :meth:`ready_records`."""
        self.ready_records()
        return self.reservations

    @functools.cached_property
    def reservations(self) -> reservations_.Reservations:
        """The reservations, whose schema nobody has looked at yet."""
        from ironic_ownership.db import reservations as sql

        return sql.SqlReservations(self._database)

    @functools.cached_property
    def backend(self) -> backend.MembershipBackend:
        """The membership backend, not joined.

        :raises ConfigurationError: if it can't be used.
        """
        target, values = settings.backend(self.conf)
        return target(
            values,
            member_ttl=self.conf.membership.member_ttl,
            call_timeout=self.conf.membership.heartbeat_interval,
        )

    @functools.cached_property
    def inventory(self) -> inventory_.Inventory:
        """The client of Ironic; nothing is asked yet.

        :raises IronicError: if its options can't work.
        """
        return self.inventory_of()

    def inventory_of(
        self, request_id: str | None = None
    ) -> inventory_.Inventory:
        """Return a new client of Ironic, which sends this id to it."""
        from ironic_ownership.clients import ironic

        return ironic.open_inventory(
            self.conf, request_id, plugins.node_fields()
        )

    def placement_of(
        self, request_id: str | None = None
    ) -> placement_.Placement | None:
        """Return a client of Placement; ``None`` if that is not configured.

        :param request_id: sent with its requests.
        :raises OwnershipError: if its options can't work.
        """
        from ironic_ownership.clients import placement_options

        return placement_options.open_placement(self.conf, request_id)

    @property
    def reports_inventory(self) -> bool:
        """Whether Placement is told of nodes by this configuration.

        :raises ConfigurationError: if its options can't work.
        """
        from ironic_ownership.clients import placement_options

        return placement_options.reports(self.conf)

    @functools.cached_property
    def scope(self) -> model.Scope:
        """The scope of the policies configured here.

        :raises ConfigurationError: if they can't be used.
        """
        return self.policies.scope

    @functools.cached_property
    def policies(self) -> policy_set.PolicySet:
        """The policies configured here.

        :raises ConfigurationError: if they can't be used.
        """
        return policy_set.PolicySet.of(self._looking.policies, plugins.origin)

    @property
    def service(self) -> str:
        """The service configured here, whether it is to run here or not.

        :raises ConfigurationError: if the configuration can't be used.
        """
        return self._looking.host

    def reserver(self, request_id: str | None = None) -> reserving.Reserver:
        """Build what reserves nodes, for any number of threads.

        :param request_id: sent to Ironic with each request.
        :raises OwnershipError: if database or Ironic can't be used.
        """
        from ironic_ownership.wiring import reservations

        return reservations.reserver(self, request_id)

    def host(self) -> tuple[host.Host, reload.Reload]:
        """Build the host process of this configuration, and its reload.

        :raises OwnershipError: if any part of it can't work.
        """
        from ironic_ownership.wiring import hosting

        return hosting.host(self)

    def close(self) -> None:
        """Free what was opened. Idempotent."""
        for name in ('backend', '_database'):
            opened = self.__dict__.get(name)
            if opened is not None:
                opened.close()
