"""The composition root: from configuration to objects that work together.

The one place that knows every implementation. Everything is made when it is
first asked for, and imported then, so that a command pays only for what it
uses.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oslo_config import cfg

from ironic_ownership import conf as conf_
from ironic_ownership import plugins, settings
from ironic_ownership.conf import plugin as plugin_conf
from ironic_ownership.contracts import backend, model
from ironic_ownership.contracts import inventory as inventory_
from ironic_ownership.contracts import moves as moves_
from ironic_ownership.contracts import placement as placement_
from ironic_ownership.contracts import records as records_
from ironic_ownership.contracts import removals as removals_
from ironic_ownership.engine import policy_set

if TYPE_CHECKING:
    from ironic_ownership.db import connection
    from ironic_ownership.engine import host, reload


class Wiring:
    """The objects of one process, wired by its configuration.

    :param conf: a parsed configuration with the core options.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    @functools.cached_property
    def settings(self) -> settings.Settings:
        """The validated configuration of a host process.

        :raises ConfigurationError: listing every fault.
        """
        return settings.read(self._conf)

    @property
    def policy_names(self) -> Sequence[str]:
        """The policies that the configuration names, whatever they are."""
        names: Sequence[str] = self._conf.ownership.policies
        return names

    @property
    def backend_name(self) -> str:
        """The membership backend that the configuration names."""
        return str(self._conf.ownership.backend).strip()

    @functools.cached_property
    def _database(self) -> connection.Database:
        from ironic_ownership.db import connection

        group = self._conf.database
        return connection.open_database(
            group.connection, **connection.engine_options(group)
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

    @functools.cached_property
    def backend(self) -> backend.MembershipBackend:
        """The membership backend, not joined.

        :raises ConfigurationError: if it can't be used.
        """
        target, values = settings.backend(self._conf)
        return target(
            values,
            member_ttl=self._conf.membership.member_ttl,
            call_timeout=self._conf.membership.heartbeat_interval,
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

        return ironic.open_inventory(self._conf, request_id)

    def placement_of(
        self, request_id: str | None = None
    ) -> placement_.Placement | None:
        """Return a client of Placement; ``None`` if that is not configured.

        :param request_id: sent with its requests.
        :raises OwnershipError: if its options can't work.
        """
        from ironic_ownership.clients import placement_options

        return placement_options.open_placement(self._conf, request_id)

    @functools.cached_property
    def scope(self) -> model.Scope:
        """The scope of the policies configured here.

        :raises ConfigurationError: if they can't be used.
        """
        configured = settings.read(self._conf, serves=False)
        return policy_set.PolicySet.of(configured.policies).scope

    def host(self) -> tuple[host.Host, reload.Reload]:
        """Build the host process of this configuration, and its reload.

        :raises OwnershipError: if any part of it can't work.
        """
        from ironic_ownership.engine import (
            absentees,
            fence,
            guard,
            journal,
            membership,
            notices,
            refresh,
        )
        from ironic_ownership.engine import host as host_
        from ironic_ownership.engine import reload as reload_

        chosen, tuning = self.settings, tuning_of(self.settings)
        fence_ = fence.Fence(chosen.member_ttl, chosen.fence_margin)
        notices_ = notices.Notices()
        journal_ = journal.Journal(chosen.host, notices_)
        journal_.starts_with(tuning.policies)
        placement = self.placement_of()
        if placement is None:
            journal_.without_placement()
        wake = threading.Event()
        absentees_ = absentees.Absentees(self.inventory, tuning.limits)
        refresher = refresh.Refresher(
            chosen.host,
            tuning.policies.scope,
            refresh.Ports(
                self.records,
                self.inventory,
                self.backend,
                interpret,
                placement,
            ),
            fence_,
            journal_,
            absentees_,
        )
        membership_ = membership.Membership(
            membership.Identity(chosen.host, chosen.advertised),
            self.backend,
            self.records,
            fence_,
            notices_,
            on_change=wake.set,
        )
        guard_ = guard.Guard(
            chosen.host,
            tuning.policies,
            fence_,
            self.records,
            self.inventory_of(),
        )
        built = host_.Host(
            membership_,
            refresher,
            fence_,
            notices_,
            wake,
            guard_,
            prepare=self._prepare,
            heartbeat_interval=tuning.heartbeat_interval,
            refresh_interval=tuning.refresh_interval,
            member_ttl=chosen.member_ttl,
        )
        return built, reload_.Reload(
            built,
            membership_,
            refresher,
            absentees_,
            guard_,
            self.inventory,
            tuning,
        )

    def close(self) -> None:
        """Free what was opened. Idempotent."""
        for name in ('backend', '_database'):
            opened = self.__dict__.get(name)
            if opened is not None:
                opened.close()

    def _prepare(self) -> None:
        self.ready_records()
        self.inventory.check(self.scope)


def tuning_of(chosen: settings.Settings) -> reload.Tuning:
    """Return what a running host may change, out of all settings."""
    from ironic_ownership.engine import absentees, reload

    return reload.Tuning(
        advertised=chosen.advertised,
        policies=policy_set.PolicySet.of(chosen.policies),
        heartbeat_interval=chosen.heartbeat_interval,
        refresh_interval=chosen.refresh_interval,
        limits=absentees.Limits(
            chosen.recheck_interval,
            chosen.mass_loss_share,
            chosen.mass_loss_minimum,
        ),
    )


def interpret(advertised: model.MemberSettings) -> policy_set.PolicySet | None:
    """Read the settings that a member advertises.

    :returns: its policies, or ``None`` if this process can't know what they
        mean: another contract version, or a policy that is not installed.
    """
    if advertised.contract_version != model.CONTRACT_VERSION:
        return None
    try:
        classes = plugins.policies(p.name for p in advertised.policies)
        return policy_set.PolicySet.of(
            classes[p.name](dict(p.options)) for p in advertised.policies
        )
    except Exception:  # noqa: BLE001 - a stranger's code and options
        return None


def list_opts() -> Sequence[tuple[str, Sequence[cfg.Opt]]]:
    """Return all options, those of the installed plugins included.

    For the sample configuration, the validator and the documentation.
    """
    from ironic_ownership.clients import ironic, placement_options

    found = [
        *conf_.list_opts(),
        *ironic.list_opts(),
        *placement_options.list_opts(),
    ]
    for group in (plugins.POLICIES, plugins.BACKENDS):
        for plugin in plugins.installed(group):
            if plugin.target is None:
                continue
            found.extend(
                (
                    settings.group_of(plugin.name, plugin.target, option),
                    [plugin_conf.to_oslo(option)],
                )
                for option in plugin.target.options
            )
    return found
