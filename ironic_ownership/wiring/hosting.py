"""A host process of one configuration, and what changes it on a reload.

Imported by those who serve, nobody else: it needs nearly everything.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ironic_ownership.clients import placement_options
from ironic_ownership.engine import access, notices
from ironic_ownership.engine.hosting import (
    guard,
    journal,
    refresh,
    takeover,
    writer,
)
from ironic_ownership.engine.hosting import host as host_
from ironic_ownership.engine.hosting import reload as reload_
from ironic_ownership.engine.members import fence, heartbeat, membership
from ironic_ownership.engine.placement import (
    capacity_report,
    inventory_report,
    placement_loop,
    placement_report,
)
from ironic_ownership.engine.removing import absentees
from ironic_ownership.engine.scheduling import judging
from ironic_ownership.wiring import interpretation, reservations
from ironic_ownership.wiring import tuning as tuning_

if TYPE_CHECKING:
    from ironic_ownership.wiring import process


def host(wired: process.Wiring) -> tuple[host_.Host, reload_.Reload]:
    """Build the host process of this configuration, and its reload.

    :raises OwnershipError: if any part of it can't work.
    """
    chosen, tuning = wired.settings, tuning_.tuning_of(wired.settings)
    fence_ = fence.Fence(chosen.member_ttl, chosen.fence_margin)
    notices_ = notices.Notices()
    journal_ = journal.Journal(chosen.host, notices_)
    journal_.starts_with(tuning.policies)
    placement = wired.placement_of()
    if placement is None:
        journal_.without_placement()
    wake = threading.Event()
    absentees_ = absentees.Absentees(wired.inventory, tuning.limits)
    ports = access.Ports(
        wired.records,
        wired.inventory,
        wired.backend,
        interpretation.interpret,
        placement,
    )
    writer_ = writer.Writer(chosen.host, wired.records, fence_, journal_)

    def members_changed(died: frozenset[str]) -> None:
        takeover_.members_changed(died)

    def aside(work: Callable[[], None]) -> None:
        heartbeat_.aside(work)

    membership_ = membership.Membership(
        membership.Identity(chosen.host, chosen.advertised),
        wired.backend,
        wired.records,
        fence_,
        notices_,
        members_changed,
        aside=aside,
    )
    told = _placement_loop(wired, fence_, notices_)
    refresher = refresh.Refresher(
        chosen.host,
        tuning.policies.scope,
        ports,
        fence_,
        journal_,
        absentees_,
        writer_,
        membership_.judgement,
        handover_limit=tuning.handover_limit,
        judging_=judging.Judging(
            wired.inventory,
            notices_,
            recovery_delay=tuning.recovery_delay,
        ),
        reporter=told,
        repair=reservations.repair(wired, fence_, notices_).repair,
    )
    takeover_ = takeover.TakeOver(
        chosen.host,
        dataclasses.replace(ports, source=wired.inventory_of()),
        lambda: refresher.last_scan,
        membership_.judgement,
        fence_,
        writer_,
        notices_,
        wake,
        longest_age=takeover.fresh_enough(tuning.intervals.refresh),
        handover_limit=tuning.handover_limit,
    )
    guard_ = guard.Guard(
        chosen.host,
        tuning.policies,
        fence_,
        wired.records,
        wired.inventory_of(),
    )
    heartbeat_ = heartbeat.Heartbeat(
        membership_,
        wired.backend,
        fence_,
        notices_,
        interval=tuning.intervals.heartbeat,
        watch_interval=tuning.intervals.watch,
    )
    built = host_.Host(
        membership_,
        heartbeat_,
        refresher,
        takeover_,
        fence_,
        notices_,
        wake,
        guard_,
        prepare=functools.partial(_prepare, wired),
        intervals=tuning.intervals,
        beside={'placement': told} if told else {},
    )
    return built, reload_.Reload(
        built,
        membership_,
        refresher,
        absentees_,
        guard_,
        wired.inventory,
        tuning,
        check=functools.partial(reservations.check_method, wired),
    )


def _placement_loop(
    wired: process.Wiring, fence_: fence.Fence, notices_: notices.Notices
) -> placement_loop.PlacementLoop | None:
    """Build what tells Placement of the nodes, if it is to be told."""
    placement = wired.placement_of()
    if placement is None or not wired.reports_inventory:
        return None
    common = (
        wired.settings.host,
        wired.records,
        placement,
        fence_,
        notices_,
    )
    return placement_loop.PlacementLoop(
        placement_report.PlacementReport(
            inventory_report.InventoryReport(
                *common,
                compare_interval=placement_options.compare_interval(
                    wired.conf
                ),
            ),
            capacity_report.CapacityReport(*common),
            notices_,
        ),
        notices_,
    )


def _prepare(wired: process.Wiring) -> None:
    wired.ready_records()
    wired.inventory.check(wired.scope)
    reservations.check_method(wired, wired.policies)
