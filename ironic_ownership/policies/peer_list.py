"""The assigner that spreads nodes over peers with a consistent hash ring.

The answers of the ring are those of tooz, and so of Nova. tooz builds a set of
all its hosts for each lookup, so its cost grows with the hosts; here most
lookups are one digest and one table access. A ring is immutable: each set of
hosts has its own.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.options import Option, OptionType

try:
    # Half the time of OpenSSL's for a key as short as a uuid, and available
    # where a security policy disables md5: nothing secret is hashed here.
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:  # a Python built without it
    from hashlib import md5


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
            'If [ownership] policies is set, it has to name "peer_list".',
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
        return Ring(hosts).owners([node.uuid for node in nodes])


POINTS_PER_HOST = 32
_PREFIXES = 1 << 16


class Ring:
    """The points of a set of hosts on the circle of md5 digests.

    :param hosts: canonical host names, at least one.
    """

    def __init__(self, hosts: Iterable[str]) -> None:
        points = {
            point: host for host in sorted(hosts) for point in _points(host)
        }
        # Digests of one length order as the numbers that tooz compares.
        self._digests = sorted(points)
        # One more owner than digests: past the last one the circle closes.
        owners = [points[digest] for digest in self._digests]
        self._owners = [*owners, owners[0]]
        self._by_prefix = self._owners_by_prefix()

    def owners(self, keys: Iterable[str]) -> Sequence[str]:
        """Return the host whose point follows the digest of each key."""
        # Bound outside of the loop: this runs for 100,000 keys at a time.
        digests, owners, by_prefix = (
            self._digests,
            self._owners,
            self._by_prefix,
        )
        find = bisect.bisect_right
        return [
            by_prefix[digest[0]][digest[1]] or owners[find(digests, digest)]
            for key in keys
            if (digest := md5(key.encode()).digest())
        ]

    def _owners_by_prefix(self) -> list[list[str | None]]:
        # Two leading bytes decide alone wherever no point shares them.
        table: list[str | None] = []
        for digest, owner in zip(self._digests, self._owners, strict=False):
            prefix = digest[0] << 8 | digest[1]
            table.extend([owner] * (prefix - len(table)))
            if len(table) == prefix:
                table.append(None)
        table.extend([self._owners[-1]] * (_PREFIXES - len(table)))
        return [table[at : at + 256] for at in range(0, _PREFIXES, 256)]


def _points(host: str) -> Iterable[bytes]:
    # tooz feeds the name to one running digest: first once, then again for
    # each point.
    name = host.encode()
    running = md5(name)
    for _ in range(POINTS_PER_HOST):
        running.update(name)
        yield running.digest()
