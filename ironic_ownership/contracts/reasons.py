"""Stable reason codes: the vocabulary of explain, events, logs and JSON.

A code never changes its meaning and is never removed; operators' scripts
and alert rules compare them.
"""

from __future__ import annotations

from ironic_ownership.contracts.texts import DescribedEnum


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
