"""Container of a host process and its reload.

Imports nearly everything, so only processes that serve import it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.clients import notifications, options
from ironic_ownership.contracts.calls import monotonic
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.db.outbox import SqlOrderTurn, SqlOutbox
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.standing_orders import StandingOrders
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host.enforcement import EnforcementProbe
from ironic_ownership.engine.host.health import Watched
from ironic_ownership.engine.host.notification_loop import (
    LONGEST_SENDING,
    NotificationLoop,
)
from ironic_ownership.engine.host.process import Host
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.placement.loop import PlacementLoop
from ironic_ownership.engine.placement.report import PlacementReport
from ironic_ownership.engine.placement.scheduling_status import (
    SchedulingStatus,
)
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.worker import Worker
from ironic_ownership.wiring import heap
from ironic_ownership.wiring.service import ServiceContainer

LOG = log.getLogger(__name__)


def build(wired: ServiceContainer, *, embedded: bool) -> Host:
    """Build the host process of this configuration.

    :param embedded: whether a program reads the feed.
    """
    settings = wired.settings
    if wired.conf.ownership.policies is None:
        LOG.info(
            '[ownership] policies is not set. The options that are set imply: '
            '%s',
            ', '.join(wired.policy_names),
        )
    context = _context(wired)
    member = LocalMember(context, settings.tuning.advertised)
    workers: dict[str, Worker] = {}
    watched = [
        Watched(
            Loop.HEARTBEAT,
            wired.backend.calls,
            lambda: 2 * wired.backend.call_timeout,
        )
    ]
    placement_loop = _placement_loop(wired, context, member)
    if placement_loop is not None:
        workers[Loop.PLACEMENT] = placement_loop
    notifier = notifications.open_notifier(wired.conf, wired.service)
    if notifier is not None:
        workers[Loop.NOTIFICATIONS] = sending = NotificationLoop(
            SqlOutbox(wired.database),
            notifier,
            member.incarnation,
            wired.conf.notifications.max_age,
            context.conditions,
        )
        watched.append(
            Watched(Loop.NOTIFICATIONS, sending.calls, lambda: LONGEST_SENDING)
        )
    companion, follow = context.ports.companion, lambda: None
    if companion is not None:
        follow = functools.partial(
            companion.try_to_follow_settings, context.host
        )

    def interval() -> float:
        return host.refresh_loop.intervals.refresh

    workers[Loop.ORDERS] = _standing_orders(wired, context, member, interval)
    if wired.shared_key:
        workers[Loop.ENFORCEMENT] = EnforcementProbe(
            context.conditions, wired.ironic_of(), wired.shared_key, interval
        )
    host = Host(
        member,
        settings.tuning,
        open_client=wired.ironic_of,
        open_records=lambda: wired.ensure_schema(create=True),
        reporter=placement_loop,
        repair=wired.recovery(context).recover,
        workers=workers,
        watched=watched,
        on_epoch_change=follow,
        has_readers=embedded,
        own_scope_only=wired.own_scope_only,
        shared_key=wired.shared_key,
        # The memory of a program that embeds the service is its own.
        free_memory=(lambda: None) if embedded else heap.trim,
    )
    return host


def _context(wired: ServiceContainer) -> ServiceContext:
    settings = wired.settings
    return ServiceContext(
        settings.host,
        Ports(
            wired.records,
            wired.ironic,
            wired.backend,
            wired.interpret,
            wired.placement_of(),
            wired.companion,
        ),
        Fence(settings.member_ttl, settings.fence_margin),
        Conditions(monotonic),
    )


def _standing_orders(
    wired: ServiceContainer,
    context: ServiceContext,
    member: LocalMember,
    interval: Callable[[], float],
) -> StandingOrders:
    context = context.with_ironic(wired.ironic_of())
    return StandingOrders(
        context,
        MoveNodes(
            # Of its own, as the client of Ironic: this is another thread.
            dataclasses.replace(context.ports, placement=wired.placement_of()),
            wired.moves,
            sharded=wired.sharded,
            permission_lifetime=wired.permission_lifetime,
        ),
        SqlOrderTurn(wired.database),
        member.incarnation,
        member.liveness,
        wired.shared_key,
        interval,
    )


def _placement_loop(
    wired: ServiceContainer, context: ServiceContext, member: LocalMember
) -> PlacementLoop | None:
    placement = wired.placement_of()
    if placement is None:
        return None
    status = inventory = None
    if wired.reports_status:
        status = SchedulingStatus(
            *(context, placement, member.liveness),
            covers_conductors=not wired.reports_inventory,
        )
    if wired.reports_inventory:
        inventory = PlacementReport(
            *(context, placement),
            compare_interval=options.value(wired.conf, 'compare_interval'),
        )
    if status is None and inventory is None:
        return None
    return PlacementLoop(context.conditions, status, inventory)
