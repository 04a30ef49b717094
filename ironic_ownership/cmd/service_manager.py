"""Notifications to the service manager: systemd's protocol.

Without a manager, as in a container or a terminal, they go nowhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import sdnotify

from ironic_ownership.engine.host.health import Health
from ironic_ownership.engine.membership.registration import Role

_OF_ROLES = {
    Role.STARTING: 'starting',
    Role.ACTIVE: 'serving',
    Role.STANDBY: 'standing by for another process of this host',
    Role.FORCED_DOWN: 'forced down by an operator',
}


class ServiceManager:
    """Tells the manager of this process how it is doing.

    The watchdog is kept content as long as the process watches its own
    loops. Servers that are down do not concern it: a restart would not bring
    them back.

    Threading: one thread.

    :param read: returns the health of this moment.
    :param is_watched: whether the loops are still watched.
    """

    def __init__(
        self, read: Callable[[], Health], is_watched: Callable[[], bool]
    ) -> None:
        self._read = read
        self._is_watched = is_watched
        self._notifier = sdnotify.SystemdNotifier()
        self._interval = watchdog_interval()
        self._due = 0.0
        self._status = ''

    def ready(self) -> None:
        """Tell that the configuration is valid and signals are handled.

        Servers that do not answer yet are waited for: the status tells.
        """
        self._notifier.notify('READY=1')

    def reloading(self) -> None:
        """Tell that the configuration is read again, until :meth:`ready`."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._notifier.notify(f'RELOADING=1\nMONOTONIC_USEC={now}')

    def stopping(self) -> None:
        """Tell that the process stops."""
        self._notifier.notify('STOPPING=1')

    def tick(self) -> None:
        """Report once in half of the watchdog's time; call it often."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self._interval
        status = status_of(self._read())
        if status != self._status:
            self._notifier.notify(f'STATUS={status}')
            self._status = status
        if self._is_watched():
            self._notifier.notify('WATCHDOG=1')


def watchdog_interval() -> float:
    """Return the seconds between two reports: half of what systemd allows."""
    try:
        allowed = int(os.environ.get('WATCHDOG_USEC', '')) / 1e6
    except ValueError:
        return 5.0
    return min(5.0, allowed / 2)


def status_of(health: Health) -> str:
    """Return one line for ``systemctl status``."""
    text = f'{health.host}: {_OF_ROLES[health.role]}'
    if health.faults:
        text += f'; {"; ".join(health.faults)}'
    # The notifier knows only Latin-1, and nothing is sent otherwise.
    return (
        ' '.join(text.split()).encode('latin-1', 'replace').decode('latin-1')
    )
