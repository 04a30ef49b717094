"""The result of the policies for one node."""

from __future__ import annotations

import dataclasses
import enum

from ironic_ownership.contracts.reasons import Reason


class Contest(enum.Enum):
    """Kind of disagreement between live services that admit one node."""

    CONFLICT = 'conflict'
    """The same policies without an assigner: two services, one filter."""

    CONTESTED = 'contested'
    """Different policies or options: a migration under way, or a mistake."""


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The owner of one node, or none, with a stable reason code.

    A decision does not name its node, so that equal decisions are shared.
    ``contenders`` are hosts that admit the node and do not agree on one
    owner. ``filtered`` marks a node that its owner keeps although the owner's
    policies no longer admit it. ``wanted_by`` is the service that the
    policies choose while the record keeps the node elsewhere. ``note`` is the
    assigner's own reason, one line, for what the policies choose.
    """

    owner: str | None
    reason: Reason
    contenders: tuple[str, ...] = ()
    contest: Contest | None = None
    filtered: bool = False
    wanted_by: str | None = None
    note: str = ''
