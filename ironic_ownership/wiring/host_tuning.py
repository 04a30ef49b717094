"""What a running host may change, out of its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ironic_ownership import plugins, settings
from ironic_ownership.engine.decision import policy_set

if TYPE_CHECKING:
    from ironic_ownership.engine.host import reload


def tuning_of(chosen: settings.Settings) -> reload.Tuning:
    """Return what a running host may change, out of all settings."""
    from ironic_ownership.engine.deletion import missing_nodes
    from ironic_ownership.engine.host import process, reload

    return reload.Tuning(
        advertised=chosen.advertised,
        policies=policy_set.PolicySet.of(chosen.policies, plugins.origin),
        intervals=process.Intervals(
            heartbeat=chosen.heartbeat_interval,
            watch=chosen.watch_interval,
            refresh=chosen.refresh_interval,
            restart_grace=chosen.restart_grace,
        ),
        handover_limit=chosen.handover_limit,
        limits=missing_nodes.Limits(
            chosen.recheck_interval,
            chosen.mass_loss_share,
            chosen.mass_loss_minimum,
        ),
        recovery_delay=chosen.recovery_delay,
    )
