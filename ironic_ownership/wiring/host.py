"""Container of a host process and its reload.

Imports nearly everything, so only processes that serve import it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

from ironic_ownership.clients.placement import options
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.inventory import Inventory
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
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.process import Host
from ironic_ownership.engine.host.reconciler import Reconciler
from ironic_ownership.engine.host.refresh import Refresher
from ironic_ownership.engine.host.refresh_loop import RefreshLoop
from ironic_ownership.engine.host.reload import Reload
from ironic_ownership.engine.host.takeover import TakeOver, longest_scan_age
from ironic_ownership.engine.membership.epoch_monitor import EpochMonitor
from ironic_ownership.engine.membership.fence import Fence, monotonic
from ironic_ownership.engine.membership.heartbeat import Heartbeat
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.placement import (
    capacity_report,
    inventory_report,
    loop,
    reporter,
)
from ironic_ownership.engine.ports import Ports
from ironic_ownership.wiring import reservations
from ironic_ownership.wiring.container import Container, interpret

GUARD_CLIENTS = 8
"""Nodes that the guard checks at the same time; others wait. Fewer than the
database gives connections, which heartbeats need as well."""

_LOOPS = frozenset(Loop) - {Loop.PLACEMENT}


def build(wired: Container) -> tuple[Host, Reload]:
    """Build the host process of this configuration, and its reload."""
    settings, tuning = wired.settings, wired.settings.tuning
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
    placement_loop = _placement_loop(wired, context)
    reconciler = Reconciler(
        context, operator_log, tuning.handover_limit, Feed(context.fence)
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
        repair=reservations.recovery_of(wired, context).recover,
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
        clients=ClientPool(functools.partial(_client, wired), GUARD_CLIENTS),
    )
    refresh_loop = RefreshLoop(
        context, member, refresher, wake, tuning.intervals
    )
    monitor = ConditionMonitor(
        context,
        member.incarnation,
        lambda: refresh_loop.intervals.refresh,
        _LOOPS | ({Loop.PLACEMENT} if placement_loop else set()),
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
        ),
        lambda: member.is_standby,
    )
    host = Host(
        context,
        member,
        heartbeat,
        takeover,
        refresh_loop,
        reconciler.feed,
        guard,
        prepare=functools.partial(
            _prepare, wired, context.conditions, monitor
        ),
        workers={
            'epoch': EpochMonitor(
                member, heartbeat, context.conditions, context.clock
            ),
            **({'placement': placement_loop} if placement_loop else {}),
        },
        monitor=monitor,
    )
    return host, Reload(
        host,
        member,
        refresher,
        guard,
        wired.inventory,
        tuning,
        functools.partial(reservations.check_method, wired),
    )


def _context(wired: Container) -> ServiceContext:
    settings = wired.settings
    return ServiceContext(
        settings.host,
        Ports(
            wired.records,
            wired.inventory,
            wired.backend,
            interpret,
            wired.placement_of(),
            wired.cell,
        ),
        Fence(settings.member_ttl, settings.fence_margin),
        Conditions(monotonic),
    )


def _placement_loop(
    wired: Container, context: ServiceContext
) -> loop.PlacementLoop | None:
    placement = wired.placement_of()
    if placement is None or not wired.reports_inventory:
        return None
    common = (
        context.host,
        wired.records,
        placement,
        context.fence,
        context.conditions,
    )
    return loop.PlacementLoop(
        reporter.PlacementReport(
            inventory_report.InventoryReport(
                *common,
                compare_interval=options.compare_interval(wired.conf),
            ),
            capacity_report.CapacityReport(*common),
            context.conditions,
        ),
        context.conditions,
    )


def _client(wired: Container) -> Inventory:
    with wired.options_lock:
        return wired.inventory_of()


def _prepare(
    wired: Container, conditions: Conditions, monitor: ConditionMonitor
) -> None:
    wired.ready_records()
    try:
        wired.inventory.check(wired.scope)
        credential_probe.probe(wired.inventory, conditions)
        reservations.check_method(wired, wired.policies)
    except exceptions.IronicUnavailableError:
        monitor.may_store = True  # it waits, and says so
        raise
    monitor.may_store = True
