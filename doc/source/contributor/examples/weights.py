"""An assigner by weights, without a floating-point number."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from ironic_ownership import contracts

LARGEST = 100


class WeightsPolicy(contracts.AssignerPolicy):
    """Gives each service nodes in proportion to its weight, by default 1."""

    contract_version = 1
    rebalancing = True
    # A service that leaves takes its draws away; the others win what they
    # won, or more.
    extra_movement = 0.0
    node_by_node = True
    options = (
        contracts.Option(
            'weights',
            contracts.OptionType.LIST,
            'Weights of services, as host=weight, each a whole number from 1 '
            f'to {LARGEST}. The same list for all services.',
            default=(),
        ),
    )

    def __init__(self, settings: Mapping[str, contracts.Value]) -> None:
        super().__init__(settings)
        given = settings.get('weights')
        self._weights = dict(
            _pair(text) for text in (given if isinstance(given, tuple) else ())
        )

    def settings(self) -> Mapping[str, contracts.Value]:
        """Return the weights by host: the list has no order."""
        return {
            'weights': tuple(
                f'{host}={weight}'
                for host, weight in sorted(self._weights.items())
            )
        }

    def assign(
        self, nodes: Sequence[contracts.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        """Choose an owner for each node."""
        draws = [
            (host, f'{host} {number} '.encode())
            for host in hosts
            for number in range(self._weights.get(host, 1))
        ]
        return [
            max((_hash(draw, node.uuid), host) for host, draw in draws)[1]
            for node in nodes
        ]


def _hash(draw: bytes, uuid: str) -> bytes:
    return hashlib.blake2b(draw + uuid.encode(), digest_size=16).digest()


def _pair(text: str) -> tuple[str, int]:
    host, _, weight = text.partition('=')
    host = contracts.canonical_host(host)
    if not (host and weight.isdecimal() and 1 <= int(weight) <= LARGEST):
        raise contracts.PolicySettingsError(
            f'{text!r} is no host=weight', hint='Such as "host1=2, host2=1"'
        )
    return host, int(weight)
