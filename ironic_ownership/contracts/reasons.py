"""Stable reason codes: the vocabulary of explain, events, logs and JSON.

A code never changes its meaning and is never removed; operators' scripts
and alert rules compare them.
"""

from __future__ import annotations

from ironic_ownership.contracts.described import DescribedEnum


class Reason(DescribedEnum):
    """The rule by which a node is owned or unowned."""

    EXCLUSIVE = 'exclusive', 'the only live service that admits it'
    """The one live service whose policies admit the node owns it."""

    ASSIGNED = 'assigned', "chosen by the services' assigner"
    """The assigner of the services that admit the node chose the owner."""

    ADOPTED = 'adopted', 'first seen with an instance, adopted'
    """First seen with an instance: the service that the policies choose owns
    it."""

    INSTANCE_STAYS = (
        'instance_stays',
        'has an instance: stays until it is moved',
    )
    """The node has an instance, so only an operator changes its owner."""

    RECORD_KEEPS = (
        'record_keeps',
        'on record with this service: only a move changes it',
    )
    """The policies name another service, but only a move changes owners."""

    CONFLICT_FIRST = (
        'conflict_first',
        'several services share a filter: the first keeps',
    )
    """Several services with one filter: the one that joined first claims."""

    CONTESTED_KEEPS = (
        'contested_keeps',
        'services disagree: the owner on record keeps it',
    )
    """Services disagree about the node: the owner on record keeps it."""

    CONTESTED_UNOWNED = (
        'contested_unowned',
        'services disagree: no service claims it',
    )
    """Services disagree about an unowned node: no service claims it."""

    UNASSIGNED = 'unassigned', 'the assigner leaves it unowned'
    """Services admit the node, and their assigner leaves it unowned."""

    NOT_ADMITTED = 'not_admitted', 'no live, enabled service admits it'
    """No live and enabled service admits the node."""

    FILTERED_KEEPS = (
        'filtered_keeps',
        'outside of every filter: stays until it is moved',
    )
    """No service admits the node; the owner on record keeps it."""

    RELEASED = 'released', 'released for its next owner'
    """A rebalancing service gave up a free node that it no longer gets."""

    RESERVED = 'reserved', 'reserved by its owner for an instance'
    """Its owner reserved it for an instance."""

    MOVED = 'moved', 'moved to its owner by an operator'
    """An operator moved it to its owner."""

    NODE_GONE = 'node_gone', 'Ironic does not have it any more'
    """Ironic answered 404 for the node's uuid, asked without any filter."""
