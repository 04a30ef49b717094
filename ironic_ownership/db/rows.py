"""Turn rows into the contracts' values, and only that.

What another release or a hand wrote into a row must not break the reading
of all the others: what cannot be read becomes a value that admits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ironic_ownership.contracts import model, reasons

UNREADABLE = model.MemberSettings(policies=(), contract_version=0)
"""Stands for settings that this release cannot read."""

_REASONS = {reason.value: reason for reason in reasons.Reason}


def settings(text: str) -> model.MemberSettings:
    """Read advertised settings; :data:`UNREADABLE` if that is impossible."""
    try:
        found = model.MemberSettings.from_json(text)
        # Settings are compared as members of sets, and JSON can hold more
        # than a set can.
        hash(found)
    except (ValueError, TypeError):
        return UNREADABLE
    return found


def compute_node(row: Iterable[Any]) -> model.ComputeNode:
    """Build a compute node from a row of ``queries.COMPUTE_NODES``."""
    uuid, host, instance, name, driver, shard, group, reason, at, *more = row
    return model.ComputeNode(
        uuid,
        host,
        instance,
        name,
        driver,
        shard,
        group,
        # A reason that a newer release knows: the owner is what matters.
        _REASONS.get(reason, reasons.Reason.RECORD_KEEPS),
        at,
        *more,
    )


def service(row: Any) -> model.Service:
    """Build a service from a row of ``queries.SERVICES``."""
    away = row.away_until is not None and row.away_until > row.now
    return model.Service(
        host=row.host,
        epoch=row.epoch,
        disabled=bool(row.disabled),
        disabled_reason=row.disabled_reason,
        forced_down=bool(row.forced_down),
        fenced=bool(row.fenced),
        settings=settings(row.settings),
        registered_at=row.registered_at,
        view_checksum=row.view_checksum,
        config_error=row.config_error,
        incarnation=row.incarnation,
        # Whoever forces a service down waits for nobody.
        away=away and not row.forced_down,
    )


def member(row: Any) -> model.Member:
    """Build a member from a row of ``members``."""
    return model.Member(
        host=row.host,
        incarnation=row.incarnation,
        joined_at=row.joined_at,
        settings=settings(row.settings),
    )


def event(row: Any) -> model.Event:
    """Build an event from a row of ``events``."""
    return model.Event(
        id=row.id,
        at=row.at,
        actor=row.actor,
        kind=row.kind,
        node_uuid=row.node_uuid,
        from_host=row.from_host,
        to_host=row.to_host,
        instance_uuid=row.instance_uuid,
        reason=row.reason,
    )
