"""The gates that a record must pass before it is deleted. Pure.

A gate that cannot be judged counts as failed, and all of them are judged, so
that a refusal names everything that stands in the way.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping

from ironic_ownership.contracts import model


class Gate(enum.StrEnum):
    """One named check; the codes are stable."""

    NODE_IS_GONE = 'node_is_gone'
    """Ironic answered 404 for the uuid, asked without any filter."""

    NO_INSTANCE = 'no_instance'
    """No instance is on record for the node."""

    NO_MASS_LOSS = 'no_mass_loss'
    """It is not one of many nodes that went missing at once."""

    SEES_ALL_NODES = 'sees_all_nodes'
    """The credential lists as many nodes as Ironic says that it has."""


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What is known about a node that is missing; ``None`` is "unknown"."""

    node_is_gone: bool | None = None
    instance_uuid: str | None = None
    mass_loss: bool | None = None
    sees_all_nodes: bool | None = None


def failed_gates(evidence: Evidence) -> list[Gate]:
    """Return the gates that stop the deletion, in a stable order.

    Source: ironic-shards, "Config changes": deletion has to be confirmed
    across all conductor groups and shards.
    """
    passed = {
        Gate.NODE_IS_GONE: evidence.node_is_gone is True,
        Gate.NO_INSTANCE: evidence.instance_uuid is None,
        Gate.NO_MASS_LOSS: evidence.mass_loss is False,
        Gate.SEES_ALL_NODES: evidence.sees_all_nodes is True,
    }
    return [gate for gate, ok in passed.items() if not ok]


def is_mass_loss(missing: int, owned: int, share: float, floor: int) -> bool:
    """Tell whether too many own nodes are missing to believe it.

    :param missing: own nodes of which Ironic shows no trace.
    :param owned: own nodes on record.
    :param share: the greatest share of them that may be missing.
    :param floor: up to this many may always be missing.
    """
    return missing > floor and missing > share * owned


def sees_all(
    counts: Mapping[str | None, int], shard: str | None, listed: int
) -> bool:
    """Compare what was listed with what Ironic counts.

    :param counts: number of nodes by shard, whatever the credential.
    :param shard: the shard that was listed; ``None`` for all nodes.
    :param listed: number of nodes that the credential could list.
    """
    expected = sum(counts.values()) if shard is None else counts.get(shard, 0)
    return listed >= expected


def scope_to_count(scope: model.Scope) -> model.Scope:
    """Return the narrowest scope whose nodes Ironic also counts."""
    return model.Scope(shard=scope.shard)
