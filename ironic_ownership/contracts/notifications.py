"""The ports of notifications: the events to send, and the message broker.

The history is the queue: an event is sent after it is on record, and a broker
that does not answer only makes it wait there.
"""

from __future__ import annotations

import abc
import dataclasses

from ironic_ownership.contracts import model


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


class Notifier(abc.ABC):
    """The client of the message broker.

    Threading: one thread. Blocking: as long as the client library does.
    """

    @abc.abstractmethod
    def send(self, event: model.Event) -> None:
        """Send one event.

        :raises NotificationError: if the broker did not accept it.
        """
