"""The assigner that spreads nodes over peers with a consistent hash ring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.options import Option, OptionType
from ironic_ownership.policies import ring


class PeerListPolicy(policy.AssignerPolicy):
    """Hash ring over the live services of ``[ironic] peer_list``.

    With the list empty, over the live services with the same settings. With
    a shard key set every service is alone in its ring, as in Nova: shards
    are the successor of this policy.

    Source: conductor-groups, "Proposed change"; ironic-shards, "Config
    changes" (deprecated) and "Data model impact" (records move by themselves
    only with more than one peer).
    """

    contract_version = 1
    rebalancing = True
    node_by_node = True
    deprecated = 'use shards instead: [ironic] shard_key'
    options = (
        Option(
            'peer_list',
            OptionType.LIST,
            'Deprecated in favour of shard_key. Hosts of the services that '
            'share the nodes of this service, this one included, in any '
            'case. Empty: all live services with the same settings. '
            'Needs the policy "peer_list" in [ownership] policies.',
            default=(),
            group='ironic',
        ),
    )

    def __init__(self, settings: Mapping[str, model.Value]) -> None:
        super().__init__(settings)
        names = settings.get('peer_list') or ()
        if not isinstance(names, tuple):
            raise exceptions.PolicySettingsError(
                f'[ironic] peer_list: not a list: {names!r}'
            )
        canonical = {name: model.canonical_host(name) for name in names}
        self._peers = frozenset(name for name in canonical.values() if name)
        self._folded = {
            name: host for name, host in canonical.items() if name != host
        }

    def settings(self) -> Mapping[str, model.Value]:
        return {'peer_list': tuple(sorted(self._peers))}

    def check_host(self, host: str) -> None:
        if self._peers and host not in self._peers:
            raise exceptions.PolicySettingsError(
                f'[ironic] peer_list does not name this host, {host!r}: '
                f'{", ".join(sorted(self._peers))}',
                hint=f'Add {host} to it, or leave it empty',
            )

    def remarks(self) -> Sequence[str]:
        return [
            f'[ironic] peer_list names {name}: host names are '
            f'case-insensitive, that service is {host}'
            for name, host in sorted(self._folded.items())
        ]

    def peers(
        self, host: str, candidates: Sequence[str], scope: model.Scope
    ) -> frozenset[str]:
        if scope.shard is not None:
            return frozenset((host,))
        return self._peers or frozenset(candidates)

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        return ring.Ring(hosts).owners([node.uuid for node in nodes])
