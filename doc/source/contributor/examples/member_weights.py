"""An assigner by weights that each service advertises for itself."""

import hashlib
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import (
    AssignerPolicy,
    AssignmentRequest,
    Choice,
    Option,
    OptionType,
    Peer,
)


class MemberWeightPolicy(AssignerPolicy):
    """Nodes in proportion to ``[policy_member_weights] weight``."""

    contract_version = 2
    rebalancing = True
    node_by_node = True
    options = (
        Option(
            'weight',
            OptionType.INTEGER,
            'Weight of this service, against those of the others.',
            default=1,
            minimum=1,
            maximum=100,
            per_member=True,
        ),
    )

    def choose(self, request: AssignmentRequest) -> Sequence[Choice]:
        """Return the winner of a draw for each node."""
        tickets = [
            (f'{peer.host} {number}'.encode(), peer.host)
            for peer in request.peers
            for number in range(_weight(peer))
        ]
        return [
            Choice(_draw(node.uuid.encode(), tickets), 'drawn by weight')
            for node in request.nodes
        ]

    def shares(self, peers: Sequence[Peer]) -> Mapping[str, float]:
        """Return the weights."""
        return {peer.host: _weight(peer) for peer in peers}


def _draw(key: bytes, tickets: Sequence[tuple[bytes, str]]) -> str:
    return max(
        (hashlib.sha256(key + ticket).digest(), host)
        for ticket, host in tickets
    )[1]


def _weight(peer: Peer) -> int:
    weight = peer.values.get('weight')
    return weight if isinstance(weight, int) else 1
