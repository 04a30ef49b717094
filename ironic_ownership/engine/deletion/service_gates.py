"""The gates that a service must pass before it is deleted. Pure.

All of them are judged, so that a refusal names everything that is left; one
that cannot be judged counts as failed.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from ironic_ownership.contracts import model

EXAMPLES = 5
"""How many of what is left a refusal names."""


class Gate(enum.StrEnum):
    """One named check; the codes are stable."""

    NO_COMPUTE_NODES = 'no_compute_nodes'
    """No compute node names the service as its owner."""

    NO_INSTANCES = 'no_instances'
    """No instance is on record as running on one of its nodes."""

    NOT_ALIVE = 'not_alive'
    """The membership backend answers, and does not see the service."""


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What is known about a service that is to be deleted.

    :param nodes: the compute nodes that it owns on record.
    :param view: the members; ``None`` if that is not known.
    """

    host: str
    nodes: Sequence[model.ComputeNode]
    view: model.View | None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What one gate says.

    :param left: how many things stand in the way; 0 if it was not passed
        because it could not be judged.
    :param examples: the first of them.
    """

    gate: Gate
    passed: bool
    left: int = 0
    examples: tuple[str, ...] = ()


def judge(evidence: Evidence) -> list[Verdict]:
    """Judge every gate, in a stable order.

    Source: ironic-shards, "Migrate from peer_list to shard_key": the old
    services are deleted when no instance and no compute node is left.
    """
    host, view = evidence.host, evidence.view
    nodes = sorted(evidence.nodes, key=lambda node: node.uuid)
    alive = view is not None and host in view.hosts
    return [
        _nothing_left(Gate.NO_COMPUTE_NODES, [n.uuid for n in nodes]),
        _nothing_left(
            Gate.NO_INSTANCES,
            [n.instance_uuid for n in nodes if n.instance_uuid],
        ),
        Verdict(
            Gate.NOT_ALIVE,
            view is not None and not alive,
            int(alive),
            (host,) if alive else (),
        ),
    ]


def _nothing_left(gate: Gate, left: Sequence[str]) -> Verdict:
    return Verdict(gate, not left, len(left), tuple(left[:EXAMPLES]))
