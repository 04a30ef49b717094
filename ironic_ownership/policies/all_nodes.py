"""The filter that admits every node: the default."""

from __future__ import annotations

from ironic_ownership.contracts import policy


class AllNodesPolicy(policy.FilterPolicy):
    """Every node is eligible.

    Source: ironic-shards, "Proposed change": with nothing set, one service
    exposes all nodes.
    """

    contract_version = 1
