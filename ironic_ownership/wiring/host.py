"""Container of a host process and its reload.

Imports nearly everything, so only processes that serve import it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.clients.placement import options
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.availability.evaluation import FlapDamper
from ironic_ownership.engine.availability.tracker import AvailabilityTracker
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.deletion.missing_nodes import MissingNodes
from ironic_ownership.engine.host import credential_probe
from ironic_ownership.engine.host.action_guard import Guard
from ironic_ownership.engine.host.client_pool import ClientPool
from ironic_ownership.engine.host.condition_monitor import (
    ConditionMonitor,
    Watched,
)
from ironic_ownership.engine.host.feed import Feed
from ironic_ownership.engine.host.fleet_reader import FleetReader
from ironic_ownership.engine.host.notification_loop import (
    LONGEST_SENDING,
    NotificationLoop,
)
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.process import Host
from ironic_ownership.engine.host.reconciler import Reconciler
from ironic_ownership.engine.host.refresh import Refresher
from ironic_ownership.engine.host.refresh_loop import RefreshLoop
from ironic_ownership.engine.host.reload import Reload
from ironic_ownership.engine.host.source_reader import SourceReader
from ironic_ownership.engine.host.takeover import TakeOver, longest_scan_age
from ironic_ownership.engine.membership.epoch_monitor import EpochMonitor
from ironic_ownership.engine.membership.fence import Fence, monotonic
from ironic_ownership.engine.membership.heartbeat import Heartbeat
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.placement.loop import PlacementLoop
from ironic_ownership.engine.placement.report import PlacementReport
from ironic_ownership.engine.placement.scheduling_status import (
    SchedulingStatus,
)
from ironic_ownership.engine.ports import Ports
from ironic_ownership.wiring import heap
from ironic_ownership.wiring.container import Container

LOG = log.getLogger(__name__)

GUARD_CLIENTS = 8
"""Nodes that the guard checks at the same time; others wait. Fewer than the
database gives connections, which heartbeats need as well."""

_LOOPS = frozenset(Loop) - {
    Loop.PLACEMENT,
    Loop.SOURCES,
    Loop.NOTIFICATIONS,
}


def build(wired: Container, *, embedded: bool) -> tuple[Host, Reload]:
    """Build the host process of this configuration, and its reload.

    :param embedded: whether a program reads the feed.
    """
    settings, tuning = wired.settings, wired.settings.tuning
    if wired.conf.ownership.policies is None:
        LOG.info(
            '[ownership] policies is not set. What follows from the options '
            'that are set: %s',
            ', '.join(wired.policy_names),
        )
    context = _context(wired)
    operator_log = OperatorLog(settings.host, context.conditions)
    operator_log.starts_with(tuning.policies)
    if context.ports.placement is None:
        operator_log.without_placement()
    wake = threading.Event()

    def members_changed(died: frozenset[str]) -> None:
        takeover.members_changed(died)

    def run_in_background(work: Callable[[], None]) -> None:
        heartbeat.run_in_background(work)

    member = LocalMember(
        context, tuning.advertised, members_changed, run_in_background
    )
    heartbeat = Heartbeat(
        context,
        member,
        interval=tuning.intervals.heartbeat,
        watch_interval=tuning.intervals.watch,
    )
    placement_loop = _placement_loop(wired, context, member)
    reconciler = Reconciler(
        context,
        operator_log,
        tuning.handover_limit,
        Feed(context.fence, has_readers=embedded),
    )
    refresher = Refresher(
        context,
        tuning.policies.scope,
        reconciler,
        MissingNodes(wired.inventory, tuning.limits),
        operator_log,
        member.liveness,
        availability=AvailabilityTracker(
            wired.inventory,
            context.conditions,
            FlapDamper(tuning.recovery_delay),
        ),
        reporter=placement_loop,
        repair=wired.recovery(context).recover,
        reader=FleetReader(
            wired.inventory, settings.host, tuning.full_refresh_interval
        ),
    )
    takeover = TakeOver(
        context.with_source(wired.inventory_of()),
        reconciler,
        lambda: refresher.last_scan,
        member.liveness,
        wake,
        longest_age=longest_scan_age(tuning.intervals.refresh),
    )
    guard = Guard(
        context,
        tuning.policies,
        longest=tuning.intervals.heartbeat,
        clients=ClientPool(wired.inventory_of, GUARD_CLIENTS),
        own_scope_only=wired.own_scope_only,
    )
    refresh_loop = RefreshLoop(
        context,
        member,
        refresher,
        wake,
        tuning.intervals,
        # The memory of a program that embeds the service is its own.
        (lambda: None) if embedded else heap.trim,
    )
    notifications = _notification_loop(wired, context, member)
    monitor = ConditionMonitor(
        context,
        member.incarnation,
        lambda: refresh_loop.intervals.refresh,
        _LOOPS
        | ({Loop.PLACEMENT} if placement_loop else set())
        | ({Loop.SOURCES} if tuning.sources else set())
        | ({Loop.NOTIFICATIONS} if notifications else set()),
        (
            Watched(
                Loop.HEARTBEAT,
                wired.backend.busy,
                lambda: 2 * wired.backend.call_timeout,
            ),
            Watched(
                Loop.REFRESH,
                refresh_loop.busy,
                lambda: refresh_loop.longest,
            ),
            *(
                [
                    Watched(
                        Loop.NOTIFICATIONS,
                        notifications.busy,
                        lambda: LONGEST_SENDING,
                    )
                ]
                if notifications
                else []
            ),
        ),
        lambda: member.is_standby,
    )
    sources = None
    if tuning.sources:
        sources = SourceReader(
            context.conditions,
            lambda: reload.current,
            lambda wanted: reload.follow(wanted),  # noqa: PLW0108 - later
            context.clock,
        )
    host = Host(
        context,
        member,
        heartbeat,
        takeover,
        refresh_loop,
        reconciler.feed,
        guard,
        prepare=lambda: _prepare(
            wired, context.conditions, monitor, sources, reload
        ),
        workers={
            'epoch': EpochMonitor(
                member,
                heartbeat,
                context.conditions,
                context.clock,
                _follower(context),
            ),
            **({'placement': placement_loop} if placement_loop else {}),
            **({'sources': sources} if sources else {}),
            **({'notifications': notifications} if notifications else {}),
        },
        monitor=monitor,
        activity=operator_log.activity,
    )
    reload = Reload(host, member, refresher, guard, wired.inventory, tuning)
    return host, reload


def _context(wired: Container) -> ServiceContext:
    settings = wired.settings
    return ServiceContext(
        settings.host,
        Ports(
            wired.records,
            wired.inventory,
            wired.backend,
            wired.interpret,
            wired.placement_of(),
            wired.companion,
        ),
        Fence(settings.member_ttl, settings.fence_margin),
        Conditions(monotonic),
    )


def _follower(context: ServiceContext) -> Callable[[], None]:
    companion = context.ports.companion
    if companion is None:
        return lambda: None
    return functools.partial(companion.try_to_follow_settings, context.host)


def _notification_loop(
    wired: Container, context: ServiceContext, member: LocalMember
) -> NotificationLoop | None:
    notifier = wired.notifier()
    if notifier is None:
        return None
    return NotificationLoop(
        wired.outbox,
        notifier,
        f'{context.host} {member.incarnation}',
        wired.conf.notifications.max_age,
        context.conditions,
    )


def _placement_loop(
    wired: Container, context: ServiceContext, member: LocalMember
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
            compare_interval=options.compare_interval(wired.conf),
        )
    if status is None and inventory is None:
        return None
    return PlacementLoop(context.conditions, status, inventory)


def _prepare(
    wired: Container,
    conditions: Conditions,
    monitor: ConditionMonitor,
    sources: SourceReader | None,
    reload: Reload,
) -> None:
    wired.ensure_schema(create=True)
    try:
        wired.inventory.check()
        credential_probe.probe(
            wired.inventory,
            conditions,
            trusted=reload.current.limits.trusts_credential,
        )
        if sources is not None:
            reload.begin(sources.begin())
    except (exceptions.IronicUnavailableError, exceptions.SourceError):
        monitor.may_store = True  # it waits, and says so
        raise
    monitor.may_store = True
