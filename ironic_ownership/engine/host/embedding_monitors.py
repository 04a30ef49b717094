"""Monitors for a program that embeds a service.

One notifies the program of changes of the feed, and when the process has lost
its place: another process has taken it, an operator has forced the service
down, or the process cannot go on.

The other polls the own records when another client has changed something.
Every transaction that decides from the row of a service raises its revision: a
move, a release, a claim of another service. So the program learns of a node
that was moved away before the next refresh, and without a query of all records
as long as nothing happens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.host.feed import Feed, FeedChanges
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.registration import Role
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.worker import Worker

LOG = log.getLogger(__name__)

_T = TypeVar('_T')

LONGEST_WAIT = 1.0
"""Seconds after which a stop is noticed at the latest."""


LOST = frozenset((Role.STANDBY, Role.FORCED_DOWN, Role.FAILED))
"""Roles in which a process that was active has lost its place."""


@dataclasses.dataclass(frozen=True)
class LostPlace:
    """The end of the active role of a process.

    :param state: the state that follows, one of :data:`LOST`.
    :param reason: for the log, with what an operator can do.
    """

    state: Role
    reason: str


@dataclasses.dataclass(eq=False)
class PlaceMonitor(Worker):
    """Notifies an embedding program.

    A callback that blocks delays the others. Its errors are logged.

    Threading: any thread.

    :param on_restored: called when heartbeats succeed again under an epoch
        that was not lost: the feed is empty until the next refresh.
    :param on_lost_place: called each time the process, having been active,
        loses its place.
    :ivar failure: the error that has ended the process.
    """

    member: LocalMember
    feed: Feed
    on_restored: Callable[[], None]
    on_lost_place: Callable[[LostPlace], None] | None = None

    condition = 'place'
    fails = 'the embedding program is not notified'
    works = 'the embedding program is notified again'

    def __post_init__(self) -> None:
        super().__post_init__()
        self.context = self.member.context
        self.conditions = self.context.conditions
        self.context.fence.changes.subscribe(self.wake)
        self.failure: Exception | None = None
        self._was_active = False
        self._last = Role.STARTING
        self._subscribers: list[_Subscriber] = []

    @property
    def state(self) -> Role:
        """The state of this moment."""
        if self.failure is not None:
            return Role.FAILED
        if self._stopping.is_set():
            return Role.STOPPED
        role = self.member.state.role
        if role in LOST:
            return role
        if self.context.fence.may_act:
            return Role.ACTIVE
        return Role.SUSPENDED if role is Role.ACTIVE else role

    def subscribe(self, receive: Callable[[FeedChanges], None]) -> None:
        """Call a function with each change of the feed, in order.

        It first receives all nodes that are owned now.
        """
        self._subscribers.append(_Subscriber(receive))
        self.context.fence.changes.notify()

    def wait_until_active(self, timeout: float) -> bool:
        """Wait until this process may act.

        :param timeout: seconds to wait at most.
        :returns: whether it may; false also if it was stopped.
        :raises Exception: the error that has ended the process.
        """
        self.context.fence.wait_until(
            lambda: self.state in (Role.ACTIVE, Role.STOPPED, Role.FAILED),
            timeout,
        )
        if self.failure is not None:
            raise self.failure
        return self.state is Role.ACTIVE

    def stop(self) -> None:
        """Make :meth:`run` return soon, and each wait for the place."""
        super().stop()
        self.context.fence.changes.notify()

    def step(self) -> float:
        """Notify of what has changed."""
        self._observe()
        # The end of a lease is no event: read the clock then.
        expiry = self.context.fence.remaining
        return min(expiry, LONGEST_WAIT) if expiry > 0 else LONGEST_WAIT

    def ended(self, failure: Exception | None) -> None:
        """Notify of the end, after the fence was closed.

        In the thread of the caller, after :meth:`run`.

        :param failure: the error that has ended the process, if one did.
        """
        self.failure = failure
        self._stopping.set()
        self._observe()
        self.context.fence.changes.notify()

    def _observe(self) -> None:
        state = self.state
        if state is Role.ACTIVE:
            if self._last is Role.SUSPENDED:
                self.on_restored()
            self._was_active = True
        elif state in LOST and self._was_active:
            self._was_active = False
            self._deliver()
            self._lost_place(state)
        self._last = state
        self._deliver()

    def _deliver(self) -> None:
        for subscriber in list(self._subscribers):
            found = self.feed.changes_since(subscriber.generation)
            subscriber.generation = found.generation
            if found:
                _call('a subscriber of the feed', subscriber.receive, found)

    def _lost_place(self, state: Role) -> None:
        if self.failure is not None:
            reason = str(self.failure)
        else:
            try:
                self.context.fence.lease()
            except exceptions.FencedError as exc:
                reason = str(exc)
            else:
                reason = 'it was lost for a moment'
        LOG.warning('%s has lost its place: %s', self.context.host, reason)
        if self.on_lost_place is not None:
            _call(
                'on_lost_place', self.on_lost_place, LostPlace(state, reason)
            )


@dataclasses.dataclass(eq=False)
class _Subscriber:
    receive: Callable[[FeedChanges], None]
    generation: int = 0


def _call(name: str, function: Callable[[_T], None], argument: _T) -> None:
    try:
        function(argument)
    except Exception:  # code of the embedding program; others must get theirs
        LOG.exception('%s raised an error', name)


_NO_NODES = model.Scope(nothing=True)


@dataclasses.dataclass(eq=False)
class RecordMonitor(Worker):
    """Keeps the feed of a service up to date between two refreshes.

    :param refresh: called when own nodes are not in the feed.
    """

    context: ServiceContext
    feed: Feed
    refresh: Callable[[], None]

    first_due = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._revision: int | None = None

    def row_read(self, row: model.Service) -> None:
        """Take the own row as it was just read. Any thread."""
        if row.revision != self._revision:
            self._revision = row.revision
            self.wake()

    def step(self) -> None:
        """Compare the feed with the own records. One query.

        :raises RecordsError: if the records do not answer.
        """
        token, host = self.feed.read_token(), self.context.host
        found = self.context.ports.records.in_reach(host, _NO_NODES)
        own = {record.uuid for record in found}
        if self.feed.retain(token, own):
            self.refresh()

    def failed(self, error: Exception) -> None:
        """Leave the records to a refresh, which reports such an error."""
        LOG.debug('own records not read, left to a refresh: %s', error)
        self.refresh()
