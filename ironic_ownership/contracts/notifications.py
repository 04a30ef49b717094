"""The ports of notifications: the events to send, and the message broker.

The history is the queue: an event is sent after it is on record, and a broker
that does not answer only makes it wait there.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventPosition


@dataclasses.dataclass(frozen=True, slots=True)
class Turn:
    """Turn of one process to send the events.

    :param is_mine: whether it is the caller, until the lease ends.
    :param position: until when all events were sent, in seconds since the
        epoch by the database's clock.
    :param now: the time by that clock.
    """

    is_mine: bool
    position: float
    now: float


class Outbox(abc.ABC):
    """The events of the history that have yet to be sent.

    One process of all services sends at a time. Two may overlap for a moment,
    and a new one sends the last events again: a consumer may see an event
    twice, but none is left out.

    Threading: any thread. Blocking and failure as for the records.
    """

    @abc.abstractmethod
    def claim(self, sender: str, *, lease: float, max_age: float) -> Turn:
        """Take the turn if it is free, or renew the own one.

        :param sender: unique name of the process.
        :param lease: seconds for which it is taken; renewed in the second
            half.
        :param max_age: seconds; older events are not sent any more. With no
            position on record that is now.
        """

    @abc.abstractmethod
    def read(
        self, since: float, after: EventPosition | None, limit: int
    ) -> Sequence[model.Event]:
        """Return events, oldest first.

        :param since: first moment, by the database's clock.
        :param after: only those that follow this place in the list.
        """

    @abc.abstractmethod
    def advance(self, sender: str, position: float, *, lease: float) -> bool:
        """Record until when all events were sent, and renew the turn.

        :returns: ``False`` if another process has the turn.
        """

    @abc.abstractmethod
    def yield_turn(self, sender: str) -> None:
        """Let another process have the turn."""


class Notifier(abc.ABC):
    """The client of the message broker.

    Threading: one thread. Blocking: as long as the client library does.
    """

    @abc.abstractmethod
    def send(self, event: model.Event) -> None:
        """Send one event.

        :raises NotificationError: if the broker did not accept it.
        """
