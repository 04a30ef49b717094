"""The gates of a compute node's deletion. Pure.

Shared by the refresh loop and the operator's commands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial

from ironic_ownership.engine import gates
from ironic_ownership.engine.gates import Found, Gate, GateResult, Outcome

NODE_IS_GONE, NO_INSTANCE = 'node_is_gone', 'no_instance'
NO_ALLOCATION, STILL_OWNER = 'no_allocation', 'still_owner'
NO_MASS_LOSS, SEES_ALL_NODES = 'no_mass_loss', 'sees_all_nodes'


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The evidence about a missing node.

    :param uuid: of the node, for the hints.
    :param found: by the codes of the gates; what is not in it is unknown.
    """

    uuid: str
    found: Mapping[str, Found] = dataclasses.field(default_factory=dict)


def evaluate(evidence: Evidence) -> tuple[GateResult, ...]:
    """Evaluate every gate, in a stable order.

    Source: ironic-shards, "Config changes": deletion has to be confirmed
    across all conductor groups and shards.
    """
    return gates.evaluate(GATES, evidence)


def late(uuid: str, code: str, found: Found | str) -> GateResult:
    """Return the result of a gate for what was found after all others."""
    (gate,) = (gate for gate in GATES if gate.code == code)
    return gate.result(Evidence(uuid), found)


def fact(passes: bool, detail: str) -> Found:
    """Return a fact, with its text for the operator."""
    return Found(Outcome.PASSED if passes else Outcome.FAILED, detail)


def _found(code: str, evidence: Evidence) -> Found:
    return evidence.found.get(code, Found(Outcome.UNKNOWN, 'not known'))


GATES = (
    Gate(
        NODE_IS_GONE,
        'Ironic answers 404 for its uuid, asked without any filter',
        'Keep the record: it is deleted after the node, with "openstack '
        'baremetal node delete {case.uuid}"',
        partial(_found, NODE_IS_GONE),
    ),
    Gate(
        NO_INSTANCE,
        'no instance is on record for it',
        'If the instance no longer exists: ironic-ownership instance forget '
        '{case.uuid} --reason TEXT',
        partial(_found, NO_INSTANCE),
    ),
    Gate(
        NO_ALLOCATION,
        'its provider in Placement has no allocation',
        'Delete the servers that hold the allocations; if they no longer '
        'exist: openstack resource provider allocation delete CONSUMER',
        partial(_found, NO_ALLOCATION),
    ),
    Gate(
        STILL_OWNER,
        'the record still has the owner seen',
        'See "ironic-ownership compute node show {case.uuid}", and repeat '
        'this if there is still a record',
        partial(_found, STILL_OWNER),
    ),
    Gate(
        NO_MASS_LOSS,
        'not too many nodes of its owner are missing together',
        'If the nodes were deleted on purpose, set [ownership] '
        'mass_loss_share = 1 in a copy of the configuration, and repeat this '
        'with --config-file; over HTTP, for the HTTP service',
        partial(_found, NO_MASS_LOSS),
    ),
    Gate(
        SEES_ALL_NODES,
        'the credential lists as many nodes as Ironic counts',
        'Give the user of [ironic] a role that sees all nodes, and repeat '
        'this',
        partial(_found, SEES_ALL_NODES),
        unknown_hint='Repeat this when Ironic answers. Where it refuses '
        '/v1/shards: if the user of [ironic] sees all nodes, set [ownership] '
        'trust_credential = true',
    ),
)
"""None of them can be overridden."""
