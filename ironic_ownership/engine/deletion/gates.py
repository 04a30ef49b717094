"""The gates that a record must pass before it is deleted. Pure.

The refresh loop and the command line share them. A gate that cannot be judged
counts as failed, and all of them are judged, so that a refusal names
everything that stands in the way.
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

    NO_ALLOCATION = 'no_allocation'
    """Nobody holds an allocation of the node's provider in Placement."""

    STILL_OWNER = 'still_owner'
    """The record names the owner for which the gates are judged."""

    NO_MASS_LOSS = 'no_mass_loss'
    """It is not one of many nodes that went missing at once."""

    SEES_ALL_NODES = 'sees_all_nodes'
    """The credential lists as many nodes as Ironic says that it has."""


class Verdict(enum.StrEnum):
    """What came of a gate; the codes are stable."""

    PASSED = 'passed'
    FAILED = 'failed'

    UNKNOWN = 'unknown'
    """It could not be judged, which stops the deletion like a failure."""

    NOT_CONFIGURED = 'not_configured'
    """The deployment does not use what the gate asks: it stops nothing."""


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What is known about a node that is missing; ``None`` is "unknown".

    :param uses_placement: whether Placement is configured at all.
    :param consumers: who holds allocations; nobody, if there is no provider.
    :param details: what the operator should know beside the verdict.
    """

    node_is_gone: bool | None = None
    instance_uuid: str | None = None
    uses_placement: bool = True
    consumers: frozenset[str] | None = None
    still_owner: bool | None = None
    mass_loss: bool | None = None
    sees_all_nodes: bool | None = None
    details: Mapping[Gate, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Judgement:
    """One gate: its verdict, and what that comes from."""

    gate: Gate
    verdict: Verdict
    evidence: str

    @property
    def passed(self) -> bool:
        """Whether the gate lets the deletion pass."""
        return self.verdict in (Verdict.PASSED, Verdict.NOT_CONFIGURED)


def judge(evidence: Evidence) -> tuple[Judgement, ...]:
    """Judge every gate, in a stable order.

    Source: ironic-shards, "Config changes": deletion has to be confirmed
    across all conductor groups and shards.
    """
    no_loss = None if evidence.mass_loss is None else not evidence.mass_loss
    verdicts = {
        Gate.NODE_IS_GONE: _verdict(evidence.node_is_gone),
        Gate.NO_INSTANCE: _verdict(evidence.instance_uuid is None),
        Gate.NO_ALLOCATION: _no_allocation(evidence),
        Gate.STILL_OWNER: _verdict(evidence.still_owner),
        Gate.NO_MASS_LOSS: _verdict(no_loss),
        Gate.SEES_ALL_NODES: _verdict(evidence.sees_all_nodes),
    }
    return tuple(
        Judgement(gate, verdict, _text(gate, verdict, evidence))
        for gate, verdict in verdicts.items()
    )


def failed_gates(evidence: Evidence) -> list[Gate]:
    """Return the gates that stop the deletion, in a stable order."""
    return [j.gate for j in judge(evidence) if not j.passed]


def _verdict(passed: bool | None) -> Verdict:
    if passed is None:
        return Verdict.UNKNOWN
    return Verdict.PASSED if passed else Verdict.FAILED


def _no_allocation(evidence: Evidence) -> Verdict:
    if not evidence.uses_placement:
        return Verdict.NOT_CONFIGURED
    if evidence.consumers is None:
        return Verdict.UNKNOWN
    return _verdict(not evidence.consumers)


_TEXTS = {
    (Gate.NODE_IS_GONE, Verdict.PASSED): 'Ironic answers 404 for its uuid',
    (Gate.NODE_IS_GONE, Verdict.FAILED): 'Ironic has the node',
    (Gate.NO_INSTANCE, Verdict.PASSED): 'no instance is on record',
    (Gate.NO_ALLOCATION, Verdict.PASSED): 'nobody holds an allocation',
    (
        Gate.NO_ALLOCATION,
        Verdict.NOT_CONFIGURED,
    ): '[placement] is not configured: nobody looked for allocations',
    (Gate.STILL_OWNER, Verdict.PASSED): 'the owner on record is the same',
    (Gate.STILL_OWNER, Verdict.FAILED): 'the owner on record is another',
    (Gate.NO_MASS_LOSS, Verdict.PASSED): 'few nodes of its owner are missing',
    (Gate.NO_MASS_LOSS, Verdict.FAILED): (
        'too many nodes of its owner are missing from Ironic at once'
    ),
    (Gate.SEES_ALL_NODES, Verdict.PASSED): 'every node is listed',
    (Gate.SEES_ALL_NODES, Verdict.FAILED): (
        'the credential lists fewer nodes than Ironic counts'
    ),
}


def _text(gate: Gate, verdict: Verdict, evidence: Evidence) -> str:
    if gate in evidence.details:
        return evidence.details[gate]
    if gate is Gate.NO_INSTANCE and verdict is Verdict.FAILED:
        return f'instance {evidence.instance_uuid} is on record'
    if gate is Gate.NO_ALLOCATION and verdict is Verdict.FAILED:
        holders = ', '.join(sorted(evidence.consumers or ()))
        return f'allocated to {holders}'
    return _TEXTS.get((gate, verdict), 'not known')


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
