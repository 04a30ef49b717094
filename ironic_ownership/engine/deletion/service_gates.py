"""The gates of a service's deletion. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.engine.gates import GateResult, Outcome


class Gate(enum.StrEnum):
    """One named check; the codes are stable."""

    NO_COMPUTE_NODES = 'no_compute_nodes'
    """No compute node names the service as its owner."""

    NO_INSTANCES = 'no_instances'
    """No instance is on record as running on one of its nodes."""

    NOT_ALIVE = 'not_alive'
    """The membership backend answers, and does not see the service."""


HINTS: Mapping[Gate, str] = {
    Gate.NO_COMPUTE_NODES: (
        'Stop it, then: ironic-ownership service set {host} --down, and '
        'ironic-ownership service drain {host}'
    ),
    Gate.NO_INSTANCES: (
        'They move with their nodes: ironic-ownership service drain {host}'
    ),
    Gate.NOT_ALIVE: (
        'Stop ironic-ownership-host of {host}; if the membership does not '
        'answer, repair that first'
    ),
}
"""The action for every gate that does not pass."""


def evaluate(
    host: str, owned: Iterable[model.ComputeNode], view: model.View | None
) -> list[GateResult]:
    """Evaluate every gate, in a stable order.

    Source: ironic-shards, "Migrate from peer_list to shard_key": the old
    services are deleted when no instance and no compute node is left.

    :param owned: the compute nodes of the service on record.
    :param view: the members; ``None`` if they are unknown.
    """
    nodes = sorted(owned, key=lambda node: node.uuid)
    instances = [n.instance_uuid for n in nodes if n.instance_uuid]
    alive = [host] if view is not None and host in view.hosts else []
    return [
        _empty(Gate.NO_COMPUTE_NODES, host, [node.uuid for node in nodes]),
        _empty(Gate.NO_INSTANCES, host, instances),
        GateResult(
            Gate.NOT_ALIVE,
            Outcome.UNKNOWN,
            hint=HINTS[Gate.NOT_ALIVE].format(host=host),
        )
        if view is None
        else _empty(Gate.NOT_ALIVE, host, alive),
    ]


def _empty(gate: Gate, host: str, remaining: Sequence[str]) -> GateResult:
    if not remaining:
        return GateResult(gate, Outcome.PASSED)
    return GateResult(
        gate,
        Outcome.FAILED,
        remaining=tuple(remaining),
        hint=HINTS[gate].format(host=host),
    )
