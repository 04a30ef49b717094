"""The input and the answers of an assigner, contract version 2."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model


@dataclasses.dataclass(frozen=True, slots=True)
class Peer:
    """A live service that can own the nodes of a request.

    :param host: canonical name.
    :param values: what the policy advertises for this service alone: its
        options with ``per_member``, or the result of ``member_values()``.
    """

    host: str
    values: Mapping[str, model.Value] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class AssignmentRequest:
    """The nodes to assign, and everything that may be decided from.

    :param nodes: all eligible nodes, with an instance or without. Their order
        has no meaning.
    :param peers: the live peers by host, at least one. Their order has no
        meaning either.
    :param owners: the service on record by the uuid of the node, which may
        be none of the peers. Empty unless the policy has ``reads_owners``.
    """

    nodes: Sequence[model.Node]
    peers: Sequence[Peer]
    owners: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The canonical names of the peers, in order."""
        return tuple(peer.host for peer in self.peers)


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The owner of one node, with a reason of the policy's own.

    :param host: one of the peers; ``None`` leaves the node unowned.
    :param reason: one line of at most 100 characters. Explanations and
        events show it.
    """

    host: str | None
    reason: str = ''
