"""The filters: all nodes, those of one conductor group, those of one shard."""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership.contracts import model, policy
from ironic_ownership.contracts.options import Option, OptionType


class AllNodesPolicy(policy.FilterPolicy):
    """Every node is eligible.

    Source: ironic-shards, "Proposed change": with nothing set, one service
    exposes all nodes.
    """

    contract_version = 1


class ConductorGroupPolicy(policy.FilterPolicy):
    """Nodes of the conductor group named by ``[ironic] conductor_group``.

    Ironic stores groups in lower case, so the option is folded; the empty
    string is Ironic's default group.

    Source: conductor-groups, "Proposed change"; ironic-shards, "Config
    changes" (the option's new name).
    """

    contract_version = 1
    options = (
        Option(
            'conductor_group',
            OptionType.STRING,
            'Conductor group whose nodes this service owns, in any case; the '
            'empty string is the default group. Can be combined with '
            'shard_key. If [ownership] policies is set, it has to name '
            '"conductor_group".',
            required=True,
            group='ironic',
            aliases=('partition_key',),
            regex=r'[a-zA-Z0-9_.-]*',
            maximum=255,
        ),
    )

    def __init__(self, settings: Mapping[str, model.Value]) -> None:
        super().__init__(settings)
        self._group = str(settings['conductor_group']).lower()
        self._scope = model.Scope(conductor_group=self._group)

    def settings(self) -> Mapping[str, model.Value]:
        return {'conductor_group': self._group}

    def scope(self) -> model.Scope:
        return self._scope


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
            'combined with conductor_group. If [ownership] policies is set, '
            'it has to name "shard_key".',
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
