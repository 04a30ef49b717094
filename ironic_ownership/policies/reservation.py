"""The assigner that leaves free nodes unowned until they are reserved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.options import Option, OptionType

FALLBACKS = ('', 'instance_uuid')
"""Values of ``fallback``."""


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
            'fallback',
            OptionType.STRING,
            'How a node is reserved where Ironic has no allocations, which '
            'came with API version 1.52. Empty: a service with the policy '
            '"reservation" does not start there. "instance_uuid": the '
            "instance is written into the node's instance_uuid, which "
            'Ironic keeps unique as well. Not used where Ironic has '
            'allocations.',
            default='',
            regex='|'.join(FALLBACKS),
        ),
        Option(
            'expiry',
            OptionType.INTEGER,
            'Seconds after which an unconfirmed reservation is deleted. It '
            'is confirmed by "ironic-ownership reservation '
            'confirm", and by itself once the provision state of its node '
            'is not "available" any more. 0: never.',
            default=3600,
            minimum=0,
        ),
    )

    def __init__(self, settings: Mapping[str, model.Value]) -> None:
        super().__init__(settings)
        fallback = settings.get('fallback') or ''
        if fallback not in FALLBACKS:
            raise exceptions.PolicySettingsError(
                f'[policy_reservation] fallback = {fallback}: not known',
                hint='Set it to instance_uuid, or remove the line',
            )
        self._canonical = {
            'fallback': fallback,
            'expiry': settings.get('expiry', 3600),
        }

    def settings(self) -> Mapping[str, model.Value]:
        return self._canonical

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        return [None] * len(nodes)
