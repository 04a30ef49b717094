"""An assigner by a hash ring that limits the share of each service."""

from __future__ import annotations

from collections.abc import Sequence

from ironic_ownership import contracts
from ironic_ownership_bounded_ring import ring

PERCENT = 105
"""Limit of each service in percent of the mean, rounded up to a node."""


class BoundedRingPolicy(contracts.AssignerPolicy):
    """Shares the nodes among the live services with the same settings.

    Not ``node_by_node``: the owner of a node depends on which services are
    full, and so on the other nodes.
    """

    contract_version = 1
    rebalancing = True
    # Measured: at most 0.029 with 1,000 nodes or more and at least 20 a
    # member, see the README. With fewer, one node is a larger share.
    extra_movement = 0.04

    def assign(
        self, nodes: Sequence[contracts.Node], hosts: Sequence[str]
    ) -> Sequence[str]:
        """Return the ring's host for the uuid of each node."""
        return ring.spread([node.uuid for node in nodes], hosts, PERCENT)
