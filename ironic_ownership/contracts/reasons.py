"""Decisions about nodes, their availability, and the stable codes of both.

The codes are the vocabulary of explain, events, logs and JSON. A code never
changes its meaning and is never removed: it is on record, and operators'
scripts and alert rules compare it. The rules are in ``engine.decision`` and
``engine.availability``.
"""

from __future__ import annotations

import dataclasses
import enum

from ironic_ownership.contracts.texts import DescribedEnum


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


class Reason(DescribedEnum):
    """The rule by which a node is owned or unowned."""

    EXCLUSIVE = 'exclusive', 'the only live service that admits it'
    ASSIGNED = 'assigned', "chosen by the services' assigner"
    ADOPTED = 'adopted', 'first seen with an instance, adopted'
    RETURNED = (
        'returned',
        'got an instance while it was released: back to that service',
    )
    INSTANCE_STAYS = (
        'instance_stays',
        'has an instance: stays until it is moved',
    )
    RECORD_KEEPS = (
        'record_keeps',
        'on record with this service: only a move changes it',
    )
    CONFLICT_FIRST = (
        'conflict_first',
        'several services share a filter: the first keeps',
    )
    CONTESTED_KEEPS = (
        'contested_keeps',
        'services disagree: the owner on record keeps it',
    )
    CONTESTED_UNOWNED = (
        'contested_unowned',
        'services disagree: no service claims it',
    )
    UNDECIDED = (
        'undecided',
        'the policies of a service that may own it fail: nothing changes',
    )
    UNASSIGNED = 'unassigned', 'the assigner leaves it unowned'
    NOT_ADMITTED = 'not_admitted', 'no live, enabled service admits it'
    FILTERED_KEEPS = (
        'filtered_keeps',
        'outside of every filter: stays until it is moved',
    )
    RELEASED = 'released', 'released for its next owner'
    RESERVED = 'reserved', 'reserved by its owner for an instance'
    MOVED = 'moved', 'moved to its owner by an operator'
    IMPORTED = (
        'imported',
        'recorded for its owner by an operator, from another source',
    )
    NODE_GONE = 'node_gone', 'Ironic does not have it any more'
    BEING_DELETED = (
        'being_deleted',
        'Ironic does not have it: its provider and record are being deleted',
    )


class Unavailable(enum.StrEnum):
    """Reasons why a node cannot be scheduled to; the first that applies.

    Source: out-of-service for the first; the others are those of Nova's
    Ironic driver, and "retired".
    """

    OUT_OF_SERVICE = 'out_of_service'
    """No live conductor of the node's conductor group has its driver."""

    MAINTENANCE = 'maintenance'
    """An operator, or a fault, put the node into maintenance."""

    IN_USE = 'in_use'
    """An instance is on the node, or on its way to it or from it."""

    RESERVED = 'reserved'
    """The node is held for an instance, and nothing is deployed yet."""

    POWER_ERROR = 'power_error'
    """Ironic failed to set the power state of the node."""

    CLEANING = 'cleaning'
    """The node is being cleaned, or cleaning failed."""

    RETIRED = 'retired'
    """The node is marked as retired: no new instance is scheduled to it."""

    PROVISION_STATE = 'provision_state'
    """The provision state is another one than available."""

    POWER_UNKNOWN = 'power_unknown'
    """Ironic does not know yet whether the node is on or off."""


WITH_INSTANCE = frozenset((Unavailable.IN_USE, Unavailable.RESERVED))
"""The codes that mean no more than that the node has an instance."""


@dataclasses.dataclass(frozen=True, slots=True)
class Evaluation:
    """Availability of one node, evaluated at one moment.

    :param code: ``None`` if the node is available.
    :param detail: the facts behind the code, for the operator.
    """

    code: Unavailable | None = None
    detail: str = ''
