"""Sessions: who has signed in, with a token that never leaves this process."""

from __future__ import annotations

import dataclasses
import math
import secrets
import threading
import time
from collections.abc import Callable

_MOST = 1000
"""Sessions at a time; the oldest ends when there are more."""


@dataclasses.dataclass
class Session:
    """One browser.

    :param csrf: the token that each form has to send.
    :param token: of Keystone; empty without it.
    :param ends_at: by the clock of the sessions, in seconds.
    :param message: of the last action, shown once.
    """

    key: str
    csrf: str
    user: str
    token: str
    ends_at: float
    message: str = ''


class Sessions:
    """All sessions, in memory: a restart ends them.

    :param lifetime: the longest, in seconds.
    :param clock: in seconds, from any moment on.
    """

    def __init__(
        self, lifetime: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lifetime = lifetime
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}

    def begin(
        self, user: str = '', token: str = '', lifetime: float = math.inf
    ) -> Session:
        """Return a new session.

        :param lifetime: of the token, if that is shorter.
        """
        made = Session(
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(32),
            user,
            token,
            self._clock() + min(self._lifetime, lifetime),
        )
        with self._lock:
            while len(self._sessions) >= _MOST:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[made.key] = made
        return made

    def find(self, key: str) -> Session | None:
        """Return a session that has not ended."""
        with self._lock:
            found = self._sessions.get(key)
            if found is not None and self._clock() >= found.ends_at:
                del self._sessions[key]
                return None
            return found

    def end(self, key: str) -> None:
        """Sign out."""
        with self._lock:
            self._sessions.pop(key, None)
