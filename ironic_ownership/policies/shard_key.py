"""The filter for the nodes of one shard."""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership.contracts import model, policy
from ironic_ownership.contracts.options import Option, OptionType


class ShardKeyPolicy(policy.FilterPolicy):
    """Nodes of the shard named by ``[ironic] shard_key``, case-sensitive.

    Source: ironic-shards, "Proposed change" and "Config changes".
    """

    contract_version = 1
    options = (
        Option(
            'shard_key',
            OptionType.STRING,
            'Shard whose nodes this service owns, exactly as in Ironic. '
            'While it is set, nodes are never listed without it. Can be '
            'combined with conductor_group. Needs the policy "shard_key" in '
            '[ownership] policies.',
            required=True,
            group='ironic',
            aliases=('shard',),
            regex=r'[a-zA-Z0-9_.-]+',
            maximum=255,
        ),
    )

    def __init__(self, settings: Mapping[str, model.Value]) -> None:
        super().__init__(settings)
        self._scope = model.Scope(shard=str(settings['shard_key']))

    def scope(self) -> model.Scope:
        return self._scope
