"""The gates of a compute node's deletion. Pure.

Shared by the refresh loop and the operator's commands.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership.contracts import model
from ironic_ownership.engine.gates import Found, Gate, GateResult, Outcome

NODE_IS_GONE, NO_INSTANCE = 'node_is_gone', 'no_instance'
NO_ALLOCATION, STILL_OWNER = 'no_allocation', 'still_owner'
NO_MASS_LOSS, SEES_ALL_NODES = 'no_mass_loss', 'sees_all_nodes'


def evaluate(
    record: model.ComputeNode, found: Mapping[str, Found]
) -> tuple[GateResult, ...]:
    """Evaluate every gate, in a stable order.

    Source: ironic-shards, "Config changes": deletion has to be confirmed
    across all conductor groups and shards.

    :param found: by the codes of the gates; what is not in it is unknown.
    """
    return tuple(
        gate.result(record, found.get(gate.code) or gate.check(record))
        for gate in GATES
    )


def fact(passes: bool, detail: str) -> Found:
    """Return a fact, with its text for the operator."""
    return Found(Outcome.PASSED if passes else Outcome.FAILED, detail)


GATES: tuple[Gate[model.ComputeNode], ...] = (
    Gate(
        NODE_IS_GONE,
        'Ironic answers 404 for its uuid, asked without any filter',
        'Keep the record: it is deleted after the node, with "openstack '
        'baremetal node delete {case.uuid}"',
    ),
    Gate(
        NO_INSTANCE,
        'no instance is on record for it',
        'If the instance no longer exists: ironic-ownership instance forget '
        '{case.uuid} --reason TEXT',
    ),
    Gate(
        NO_ALLOCATION,
        'its provider in Placement has no allocation',
        'Delete the servers that hold the allocations; if they no longer '
        'exist: openstack resource provider allocation delete CONSUMER',
    ),
    Gate(
        STILL_OWNER,
        'the record still has the owner seen',
        'See "ironic-ownership compute node show {case.uuid}", and repeat '
        'this if there is still a record',
    ),
    Gate(
        NO_MASS_LOSS,
        'not too many nodes of its owner are missing together',
        'If the nodes were deleted on purpose, set [ownership] '
        'mass_loss_share = 1 in a copy of the configuration, and repeat this '
        'with --config-file; over HTTP, for the HTTP service',
    ),
    Gate(
        SEES_ALL_NODES,
        'the credential lists as many nodes as Ironic counts',
        'Give the user of [ironic] a role that sees all nodes, and repeat '
        'this',
        unknown_hint='Repeat this when Ironic answers. Where it refuses '
        '/v1/shards: if the user of [ironic] sees all nodes, set [ownership] '
        'trust_credential = true',
    ),
)
"""None of them can be overridden."""
