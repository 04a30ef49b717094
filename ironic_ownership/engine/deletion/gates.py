"""The gates of a compute node's deletion. Pure.

Shared by the refresh loop and the operator's commands.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping

from ironic_ownership.contracts import model
from ironic_ownership.engine.gates import UNKNOWN_HINT, GateResult, Outcome


class Gate(enum.StrEnum):
    """One named check; the codes are stable."""

    NODE_IS_GONE = 'node_is_gone'
    """Ironic answered 404 for the uuid, asked without any filter."""

    NO_INSTANCE = 'no_instance'
    """No instance is on record for the node."""

    NO_ALLOCATION = 'no_allocation'
    """Placement has no allocation of the node's provider."""

    STILL_OWNER = 'still_owner'
    """The record names the owner for which the gates are evaluated."""

    NO_MASS_LOSS = 'no_mass_loss'
    """It is not one of many nodes that went missing together."""

    SEES_ALL_NODES = 'sees_all_nodes'
    """The credential lists as many nodes as Ironic counts."""


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The evidence about a missing node; ``None`` is "unknown".

    :param uuid: of the node, for the hints.
    :param consumers: holders of allocations; empty without a provider.
    :param details: texts for the operator that replace the standard ones.
    """

    uuid: str = 'UUID'
    node_is_gone: bool | None = None
    instance_uuid: str | None = None
    uses_placement: bool = True
    consumers: frozenset[str] | None = None
    still_owner: bool | None = None
    mass_loss: bool | None = None
    sees_all_nodes: bool | None = None
    details: Mapping[Gate, str] = dataclasses.field(default_factory=dict)


def evaluate(evidence: Evidence) -> tuple[GateResult, ...]:
    """Evaluate every gate, in a stable order.

    Source: ironic-shards, "Config changes": deletion has to be confirmed
    across all conductor groups and shards.
    """
    no_loss = None if evidence.mass_loss is None else not evidence.mass_loss
    outcomes = {
        Gate.NODE_IS_GONE: _outcome(evidence.node_is_gone),
        Gate.NO_INSTANCE: _outcome(evidence.instance_uuid is None),
        Gate.NO_ALLOCATION: _no_allocation(evidence),
        Gate.STILL_OWNER: _outcome(evidence.still_owner),
        Gate.NO_MASS_LOSS: _outcome(no_loss),
        Gate.SEES_ALL_NODES: _outcome(evidence.sees_all_nodes),
    }
    return tuple(
        GateResult(
            gate,
            outcome,
            _detail(gate, outcome, evidence),
            hint=_hint(gate, outcome, evidence),
        )
        for gate, outcome in outcomes.items()
    )


def _hint(gate: Gate, outcome: Outcome, evidence: Evidence) -> str:
    if outcome.passed:
        return ''
    if outcome is Outcome.UNKNOWN:
        return _NOT_COUNTED if gate is Gate.SEES_ALL_NODES else UNKNOWN_HINT
    return HINTS[gate].format(uuid=evidence.uuid)


def _outcome(passed: bool | None) -> Outcome:
    if passed is None:
        return Outcome.UNKNOWN
    return Outcome.PASSED if passed else Outcome.FAILED


def _no_allocation(evidence: Evidence) -> Outcome:
    if not evidence.uses_placement:
        return Outcome.NOT_CONFIGURED
    if evidence.consumers is None:
        return Outcome.UNKNOWN
    return _outcome(not evidence.consumers)


HINTS: Mapping[Gate, str] = {
    Gate.NODE_IS_GONE: (
        'Keep the record: it is deleted after the node, with "openstack '
        'baremetal node delete {uuid}"'
    ),
    Gate.NO_INSTANCE: (
        'If the instance no longer exists: ironic-ownership instance forget '
        '{uuid} --reason TEXT'
    ),
    Gate.NO_ALLOCATION: (
        'Delete the servers that hold the allocations; if they no longer '
        'exist: openstack resource provider allocation delete CONSUMER'
    ),
    Gate.STILL_OWNER: (
        'See "ironic-ownership compute node show {uuid}", and repeat this '
        'if there is still a record'
    ),
    Gate.NO_MASS_LOSS: (
        'If the nodes were deleted on purpose, set [ownership] '
        'mass_loss_share = 1 in a copy of the configuration, and repeat this '
        'with --config-file; over HTTP, for the HTTP service'
    ),
    Gate.SEES_ALL_NODES: (
        'Give the user of [ironic] a role that sees all nodes, and repeat this'
    ),
}
"""The action for every gate that failed."""

_NOT_COUNTED = (
    'Repeat this when Ironic answers. Where it refuses /v1/shards: if the '
    'user of [ironic] sees all nodes, set [ownership] trust_credential = true'
)

_DETAILS = {
    (Gate.NODE_IS_GONE, Outcome.PASSED): 'Ironic answers 404 for its uuid',
    (Gate.NODE_IS_GONE, Outcome.FAILED): 'Ironic has the node',
    (Gate.NO_INSTANCE, Outcome.PASSED): 'no instance is on record',
    (Gate.NO_ALLOCATION, Outcome.PASSED): 'it has no allocation',
    (
        Gate.NO_ALLOCATION,
        Outcome.NOT_CONFIGURED,
    ): '[placement] is not configured: allocations are not checked',
    (Gate.STILL_OWNER, Outcome.PASSED): 'the owner on record is the same',
    (Gate.STILL_OWNER, Outcome.FAILED): 'the owner on record is another',
    (Gate.NO_MASS_LOSS, Outcome.PASSED): 'few nodes of its owner are missing',
    (Gate.NO_MASS_LOSS, Outcome.FAILED): (
        'too many nodes of its owner are missing from Ironic'
    ),
    (Gate.SEES_ALL_NODES, Outcome.PASSED): 'every node is listed',
    (Gate.SEES_ALL_NODES, Outcome.FAILED): (
        'the credential lists fewer nodes than Ironic counts'
    ),
}


def _detail(gate: Gate, outcome: Outcome, evidence: Evidence) -> str:
    if gate in evidence.details:
        return evidence.details[gate]
    if gate is Gate.NO_INSTANCE and outcome is Outcome.FAILED:
        return f'instance {evidence.instance_uuid} is on record'
    if gate is Gate.NO_ALLOCATION and outcome is Outcome.FAILED:
        holders = ', '.join(sorted(evidence.consumers or ()))
        return f'allocated to {holders}'
    return _DETAILS.get((gate, outcome), 'not known')


def is_mass_loss(missing: int, owned: int, share: float, floor: int) -> bool:
    """Tell whether more own nodes are missing than is plausible.

    :param missing: own nodes that Ironic neither lists nor returns.
    :param share: the greatest share of the owned that may be missing.
    :param floor: up to this many may always be missing.
    """
    return missing > floor and missing > share * owned


def sees_all(
    counts: Mapping[str | None, int], shard: str | None, listed: int
) -> bool:
    """Compare the number of listed nodes with Ironic's own count.

    :param counts: number of nodes by shard, independent of the credential.
    :param shard: the shard that was listed; ``None`` for all nodes.
    """
    return listed >= expected(counts, shard)


def expected(counts: Mapping[str | None, int], shard: str | None) -> int:
    """Return how many nodes a list of a shard, or of all, has."""
    return sum(counts.values()) if shard is None else counts.get(shard, 0)


def scope_to_count(scope: model.Scope) -> model.Scope:
    """Return the narrowest scope whose nodes Ironic also counts."""
    return model.Scope(shard=scope.shard)
