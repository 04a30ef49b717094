"""Events: the kinds in the history of the records, and how to select them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from ironic_ownership.contracts.texts import DescribedEnum


class EventKind(DescribedEnum):
    """The kind of one event; the codes are stable."""

    OWNER_CHANGED = 'owner_changed', 'a service claimed or released a node'
    INSTANCE_OPENED = 'instance_opened', 'an instance appeared on a node'
    INSTANCE_CLOSED = 'instance_closed', 'the instance of a node is gone'
    SERVICE_REGISTERED = (
        'service_registered',
        'a process became the active one of its service',
    )
    SERVICE_RETIRED = 'service_retired', 'a process stopped cleanly'
    SERVICE_FAILED_OVER = (
        'service_failed_over',
        'an operator named another active process',
    )
    SERVICE_DIED = (
        'service_died',
        'a service was found dead; the reason has the last heartbeat',
    )
    SERVICE_FENCED = (
        'service_fenced',
        'a service lost its right to write; the reason states why',
    )
    NODES_TAKEN_OVER = (
        'nodes_taken_over',
        'a service took free nodes of a dead one; the reason counts them',
    )
    SERVICE_CHANGED = 'service_changed', 'an operator set a service'
    SERVICE_FORCED_DOWN = (
        'service_forced_down',
        'an operator forced a service down',
    )
    SERVICE_DELETED = 'service_deleted', 'an operator deleted a service'
    INSTANCE_FORGOTTEN = (
        'instance_forgotten',
        'an operator closed the instance of a node that is gone',
    )
    NODE_FORGOTTEN = 'node_forgotten', 'the record of a node was deleted'
    NODE_HANDED_OVER = (
        'node_handed_over',
        'an operator took a node from a service that runs',
    )
    NODE_MOVED = 'node_moved', 'an operator moved a node'
    NODE_RESERVED = 'node_reserved', 'a node was reserved for an instance'
    NODE_RELEASED = 'node_released', 'the reservation of a node ended'
    PAUSE_BEGAN = (
        'pause_began',
        'an operator paused automatic changes of owner',
    )
    PAUSE_ENDED = ('pause_ended', 'an operator ended a pause before its time')
    AVAILABILITY_CHANGED = (
        'availability_changed',
        'a node became available or unavailable',
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """The request from which changes come, for their events.

    :param actor: the client or operator.
    :param reason: of the operator.
    """

    actor: str
    request_id: str | None = None
    reason: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class EventFilter:
    """The events to return; ``None`` and no kinds select all.

    :param service: canonical host that an event concerns: the old or the new
        owner, or the service itself.
    :param actor: exactly as recorded.
    :param since: first moment, in seconds since the epoch by the database's
        clock.
    :param until: the first moment that is not included.
    """

    node_uuid: str | None = None
    service: str | None = None
    kinds: Collection[str] = ()
    actor: str | None = None
    request_id: str | None = None
    since: float | None = None
    until: float | None = None


EVERY_EVENT = EventFilter()


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class EventPosition:
    """The place of an event in the order of all events.

    Ids alone are no order: a database with several writers does not assign
    them in the order of time.

    :param at: seconds since the epoch, by the database's clock.
    """

    at: float
    id: int


@dataclasses.dataclass(frozen=True, slots=True)
class Turn:
    """Turn of one process to send the events as notifications.

    :param is_mine: whether it is the caller, until the lease ends.
    :param position: until when all events were sent, in seconds since the
        epoch by the database's clock.
    :param now: the time by that clock.
    """

    is_mine: bool
    position: float
    now: float
