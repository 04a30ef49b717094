"""Availability of nodes for scheduling, and the codes of what prevents it.

A code never changes its meaning and is never removed: it is on record, in
events and in JSON. The rules are in ``engine.availability``.
"""

from __future__ import annotations

import dataclasses
import enum


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


AVAILABLE = Evaluation()
