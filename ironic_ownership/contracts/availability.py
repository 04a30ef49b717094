"""Can something be scheduled to a node, and if not, why: the words for it.

A code never changes its meaning and is never removed: it is on record, in
events and in JSON. What is judged by which rule is in ``engine.availability``.
"""

from __future__ import annotations

import dataclasses
import enum


class Unavailable(enum.StrEnum):
    """Why nothing can be scheduled to a node; the first that applies counts.

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
    """Ironic failed to bring the node's power into a state."""

    CLEANING = 'cleaning'
    """The node is being cleaned, or that failed."""

    RETIRED = 'retired'
    """The node is marked as retired: nothing new comes to it."""

    PROVISION_STATE = 'provision_state'
    """The provision state is another one than available."""

    POWER_UNKNOWN = 'power_unknown'
    """Ironic has not learned yet whether the node is on or off."""


SUMMARY: dict[Unavailable, str] = {
    Unavailable.OUT_OF_SERVICE: 'no live conductor for its driver and group',
    Unavailable.MAINTENANCE: 'in maintenance',
    Unavailable.IN_USE: 'has an instance',
    Unavailable.RESERVED: 'held for an instance',
    Unavailable.POWER_ERROR: 'its power is in error',
    Unavailable.CLEANING: 'being cleaned, or failed to be',
    Unavailable.RETIRED: 'retired',
    Unavailable.PROVISION_STATE: 'in another provision state than available',
    Unavailable.POWER_UNKNOWN: 'its power state is not known yet',
}
"""One phrase a code, for tables and log lines."""

WITH_INSTANCE = frozenset((Unavailable.IN_USE, Unavailable.RESERVED))
"""The codes that say no more than that the node has an instance."""


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What is judged of one node at one moment.

    :param code: why nothing can be scheduled to it; ``None`` if it can be.
    :param detail: what the code was concluded from, for the operator.
    """

    code: Unavailable | None = None
    detail: str = ''


AVAILABLE = Verdict()
"""Something can be scheduled to the node."""
