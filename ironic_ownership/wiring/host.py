"""A host process of one configuration, and what changes it on a reload.

Imported by those who serve, nobody else: it needs nearly everything.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ironic_ownership.clients.placement import options
from ironic_ownership.engine.availability import tracker
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.deletion.missing_nodes import MissingNodes
from ironic_ownership.engine.host import action_guard, refresh
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.process import Host
from ironic_ownership.engine.host.reload import Reload
from ironic_ownership.engine.host.takeover import TakeOver, fresh_enough
from ironic_ownership.engine.host.writer import Writer
from ironic_ownership.engine.membership import local_member
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.membership.heartbeat import Heartbeat
from ironic_ownership.engine.placement import (
    capacity_report,
    inventory_report,
    loop,
    reporter,
)
from ironic_ownership.engine.ports import Ports
from ironic_ownership.wiring import member_policies, reservations

if TYPE_CHECKING:
    from ironic_ownership.wiring import container


def host(wired: container.Wiring) -> tuple[Host, Reload]:
    """Build the host process of this configuration, and its reload.

    :raises OwnershipError: if any part of it can't work.
    """
    chosen, tuning = wired.settings, wired.settings.tuning
    fence = Fence(chosen.member_ttl, chosen.fence_margin)
    conditions = Conditions()
    operator_log = OperatorLog(chosen.host, conditions)
    operator_log.starts_with(tuning.policies)
    placement = wired.placement_of()
    if placement is None:
        operator_log.without_placement()
    wake = threading.Event()
    missing_nodes = MissingNodes(wired.inventory, tuning.limits)
    ports = Ports(
        wired.records,
        wired.inventory,
        wired.backend,
        member_policies.interpret,
        placement,
    )
    writer = Writer(chosen.host, wired.records, fence, operator_log)

    def members_changed(died: frozenset[str]) -> None:
        takeover.members_changed(died)

    def aside(work: Callable[[], None]) -> None:
        heartbeat.aside(work)

    membership = local_member.Membership(
        local_member.Identity(chosen.host, tuning.advertised),
        wired.backend,
        wired.records,
        fence,
        conditions,
        members_changed,
        aside=aside,
    )
    told = _placement_loop(wired, fence, conditions)
    refresher = refresh.Refresher(
        chosen.host,
        tuning.policies.scope,
        ports,
        fence,
        operator_log,
        missing_nodes,
        writer,
        membership.judgement,
        handover_limit=tuning.handover_limit,
        availability_tracker=tracker.AvailabilityTracker(
            wired.inventory,
            conditions,
            recovery_delay=tuning.recovery_delay,
        ),
        reporter=told,
        repair=reservations.recovery_of(wired, fence, conditions).recover,
    )
    takeover = TakeOver(
        chosen.host,
        dataclasses.replace(ports, source=wired.inventory_of()),
        lambda: refresher.last_scan,
        membership.judgement,
        fence,
        writer,
        conditions,
        wake,
        longest_age=fresh_enough(tuning.intervals.refresh),
        handover_limit=tuning.handover_limit,
    )
    guard = action_guard.Guard(
        chosen.host,
        tuning.policies,
        fence,
        wired.records,
        wired.inventory_of(),
    )
    heartbeat = Heartbeat(
        membership,
        wired.backend,
        fence,
        conditions,
        interval=tuning.intervals.heartbeat,
        watch_interval=tuning.intervals.watch,
    )
    built = Host(
        membership,
        heartbeat,
        refresher,
        takeover,
        fence,
        conditions,
        wake,
        guard,
        prepare=functools.partial(_prepare, wired),
        intervals=tuning.intervals,
        beside={'placement': told} if told else {},
    )
    return built, Reload(
        built,
        membership,
        refresher,
        missing_nodes,
        guard,
        wired.inventory,
        tuning,
        check=functools.partial(reservations.check_method, wired),
    )


def _placement_loop(
    wired: container.Wiring, fence: Fence, conditions: Conditions
) -> loop.PlacementLoop | None:
    """Build what tells Placement of the nodes, if it is to be told."""
    placement = wired.placement_of()
    if placement is None or not wired.reports_inventory:
        return None
    common = (
        wired.settings.host,
        wired.records,
        placement,
        fence,
        conditions,
    )
    return loop.PlacementLoop(
        reporter.PlacementReport(
            inventory_report.InventoryReport(
                *common,
                compare_interval=options.compare_interval(wired.conf),
            ),
            capacity_report.CapacityReport(*common),
            conditions,
        ),
        conditions,
    )


def _prepare(wired: container.Wiring) -> None:
    wired.ready_records()
    wired.inventory.check(wired.scope)
    reservations.check_method(wired, wired.policies)
