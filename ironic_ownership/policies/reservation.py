"""The assigner that leaves free nodes unowned until they are reserved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model, policy
from ironic_ownership.contracts.options import Option, OptionType


class ReservationPolicy(policy.AssignerPolicy):
    """Free nodes are unowned; a service owns a node while it reserves it.

    Every service with these settings may reserve every node that its filters
    admit, so all of them share one pool. The node is chosen at the request,
    and Ironic arbitrates between concurrent requests.

    Source: multiple-compute-hosts, "Proposed change".
    """

    contract_version = 1
    node_by_node = True
    releases_free = True
    options = (
        Option(
            'expiry',
            OptionType.INTEGER,
            'Seconds after which an unconfirmed reservation is deleted. It '
            'is confirmed by "ironic-ownership reservation '
            'confirm", and automatically once the provision state of its '
            'node is no longer "available". 0: never.',
            default=3600,
            minimum=0,
        ),
    )

    def __init__(self, settings: Mapping[str, model.Value]) -> None:
        super().__init__(settings)
        self._canonical = {
            # Earlier releases advertise this option. Equal settings make
            # peers, so without it an upgrade would divide their pool.
            'fallback': settings.get('fallback') or '',
            'expiry': settings.get('expiry', 3600),
        }

    def settings(self) -> Mapping[str, model.Value]:
        return self._canonical

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        return [None] * len(nodes)
