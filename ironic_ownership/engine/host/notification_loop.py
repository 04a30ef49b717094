"""Sending of the events as notifications, in a thread of its own.

One service of the deployment sends those of all: it reads the history from
the position that the records keep. A broker that does not answer delays
nothing else, and loses nothing: the events wait in the history.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.calls import PendingCalls
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.events import EventPosition, Turn
from ironic_ownership.engine import conditions
from ironic_ownership.engine.ports import Outbox
from ironic_ownership.engine.worker import LONGEST_PAUSE, Worker, back_off

LOG = log.getLogger(__name__)

INTERVAL = 1.0
"""Seconds between two reads of the service that sends."""

LEASE = 30.0
"""Seconds for which a service has the turn; the others wait half of it."""

LATE = 60.0
"""Seconds for which an event may appear after later ones: those of a
transaction have the time at which it began to write."""

LONGEST_SENDING = 30.0
"""Seconds that one message may take before the loop stands still."""

PATIENCE = 3
"""Attempts with a broker that does not answer, until another service tries:
that one sends the last events again."""

_PAGE = 500


@dataclasses.dataclass(eq=False)
class NotificationLoop(Worker):
    """Sends the events while it has the turn.

    :param notify: sends one event, and takes as long as the client library
        does; raises :class:`NotificationError` if the broker does not accept
        it.
    :param sender: unique name of this process.
    :param max_age: seconds after which an event is not sent any more.
    :ivar calls: of ``notify``.
    """

    outbox: Outbox
    notify: Callable[[model.Event], object]
    sender: str
    max_age: float
    conditions: conditions.Conditions
    condition = 'notifications'
    fails = 'events are not sent, and wait'

    def __post_init__(self) -> None:
        super().__post_init__()
        self._sent: dict[int, float] = {}
        """Ids and times of the last events, which are read again."""
        self._failures = 0
        self._failed_at: float | None = None
        """The position at which the broker refused."""
        self.calls = PendingCalls(self.conditions.clock)

    def finish(self) -> None:
        """Let another service send."""
        try:
            self.outbox.yield_turn(self.sender)
        except exceptions.RecordsError as exc:
            LOG.debug('the turn of the notifications expires: %s', exc)

    def step(self) -> float:
        """Send what is to be sent.

        :returns: the seconds until the next attempt.
        """
        began = self.conditions.clock()
        turn = self.outbox.claim(
            self.sender, lease=LEASE, max_age=self.max_age
        )
        if not turn.is_mine:
            self._sent.clear()
            if self._failed_at is None or turn.position > self._failed_at:
                self._works('another service sends the notifications')
            return LEASE / 2
        self._send(turn)
        self._works('notifications are sent again')
        # A long list to read again is read less often, but within the turn.
        took = self.conditions.clock() - began
        return min(max(INTERVAL, 9 * took), LEASE / 2)

    def _works(self, message: str) -> None:
        self._failures, self._failed_at = 0, None
        self.conditions.clear(self.condition, message)
        self.conditions.succeeded(Loop.NOTIFICATIONS)

    def failed(self, error: Exception) -> float:
        """Report the error; after some, another service may try."""
        super().failed(error)
        # In a row, but for steps in which another service has the turn.
        self._failures += 1
        if self._failed_at is not None and self._failures >= PATIENCE:
            self.finish()  # another service may reach the broker
        return back_off(self._failures + 1, LONGEST_PAUSE)

    def _send(self, turn: Turn) -> None:
        """Send all events that are on record and were not sent.

        Those of the last minute before the position are read again.
        """
        position, after = turn.position, None
        while True:
            page = self.outbox.read(turn.position - LATE, after, _PAGE)
            sent = [event for event in page if event.id not in self._sent]
            for event in sent:
                if self._stopping.is_set():
                    return
                self._send_one(event, position)
                # Those from before the clock was set back are later than now.
                position = max(position, min(event.at, turn.now))
            if len(page) < _PAGE:
                break
            after = EventPosition(page[-1].at, page[-1].id)
            if sent and not self._advance(position):
                return
        # All that was on record at that time is sent.
        if position > turn.position or turn.now - position > LEASE:
            self._advance(max(position, turn.now))
        for event_id, at in list(self._sent.items()):
            if at < turn.position - LATE:
                del self._sent[event_id]

    def _send_one(self, event: model.Event, position: float) -> None:
        try:
            with self.calls.to('the message broker'):
                self.notify(event)
        except exceptions.NotificationError:
            self._failed_at = position
            raise
        self._sent[event.id] = event.at

    def _advance(self, position: float) -> bool:
        return self.outbox.advance(self.sender, position, lease=LEASE)
