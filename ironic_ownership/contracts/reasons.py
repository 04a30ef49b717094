"""Stable reason codes: the vocabulary of explain, events, logs and JSON.

A code never changes its meaning and is never removed; operators' scripts
and alert rules compare them.
"""

from __future__ import annotations

import enum


class Reason(enum.StrEnum):
    """Why a node is owned, or is not owned, as decided."""

    EXCLUSIVE = 'exclusive'
    """The one live service whose policies admit the node owns it."""

    ASSIGNED = 'assigned'
    """The assigner of the services that admit the node chose the owner."""

    ADOPTED = 'adopted'
    """First seen with an instance: owned by whom the policies give it to."""

    INSTANCE_STAYS = 'instance_stays'
    """The node has an instance, so only an operator changes its owner."""

    RECORD_KEEPS = 'record_keeps'
    """The policies name another service, but only a move changes owners."""

    CONFLICT_FIRST = 'conflict_first'
    """Several services with one filter: the one that joined first claims."""

    CONTESTED_KEEPS = 'contested_keeps'
    """Services disagree about the node: the owner on record keeps it."""

    CONTESTED_UNOWNED = 'contested_unowned'
    """Services disagree about a node that nobody owns: nobody claims it."""

    UNASSIGNED = 'unassigned'
    """Services admit the node, and their assigner gives it to nobody."""

    NOT_ADMITTED = 'not_admitted'
    """No live and enabled service admits the node."""

    FILTERED_KEEPS = 'filtered_keeps'
    """No service admits the node; the owner on record keeps it."""

    RELEASED = 'released'
    """A rebalancing service gave up a free node that it no longer gets."""

    RESERVED = 'reserved'
    """Its owner reserved it for an instance."""

    MOVED = 'moved'
    """An operator moved it to its owner."""

    NODE_GONE = 'node_gone'
    """Ironic answered 404 for the node's uuid, asked without any filter."""


SUMMARY: dict[Reason, str] = {
    Reason.EXCLUSIVE: 'the only live service that admits it',
    Reason.ASSIGNED: "chosen by the services' assigner",
    Reason.ADOPTED: 'first seen with an instance, adopted',
    Reason.INSTANCE_STAYS: 'has an instance: stays until it is moved',
    Reason.RECORD_KEEPS: 'on record with this service: only a move changes it',
    Reason.CONFLICT_FIRST: 'several services share a filter: the first keeps',
    Reason.CONTESTED_KEEPS: 'services disagree: the owner on record keeps it',
    Reason.CONTESTED_UNOWNED: 'services disagree: nobody claims it',
    Reason.UNASSIGNED: 'the assigner gives it to nobody',
    Reason.NOT_ADMITTED: 'no live, enabled service admits it',
    Reason.FILTERED_KEEPS: 'outside of every filter: stays until it is moved',
    Reason.RELEASED: 'released for its next owner',
    Reason.RESERVED: 'reserved by its owner for an instance',
    Reason.MOVED: 'moved to its owner by an operator',
    Reason.NODE_GONE: 'Ironic does not have it any more',
}
"""One phrase a code, for tables and log lines."""
