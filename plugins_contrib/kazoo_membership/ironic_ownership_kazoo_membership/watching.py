"""Notification by ZooKeeper that the members may have changed.

ZooKeeper triggers each watch once, so it is set again at the next wait.
Changes in between are found by two counters of the watched node: one grows
with its children, one with its data.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from kazoo import exceptions as errors

from ironic_ownership import contracts
from ironic_ownership_kazoo_membership.session import Session

_Seen = tuple[int, int, int]


class Watch:
    """Watches the children and the data of one node.

    Threading: :meth:`wait` from one thread at a time, the others from any.

    :param path: of the node; it is created if it is missing.
    :param patience: seconds after which a silent server is reported as
        unavailable; a wait may be shorter than a response takes.
    """

    def __init__(self, path: str, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._notified = threading.Event()
        self._closed = False
        self._armed: Session | None = None
        self._seen: _Seen | None = None
        self._silent_since: float | None = None

    def notify(self, _event: object = None) -> None:
        """Note that the members may have changed."""
        self._notified.set()

    def wait(self, session: Session, timeout: float) -> bool:
        """Wait until something may have changed since the last call.

        :param timeout: seconds.
        :raises BackendUnavailableError: if the server does not answer.
        """
        until = time.monotonic() + timeout
        if self._armed is not session or self._notified.is_set():
            self._armed = None
            self._notified.clear()
            before = self._seen
            if not self._set(session, until):
                return False
            if before != self._seen:
                return True
        self._notified.wait(max(0.0, until - time.monotonic()))
        return self._notified.is_set() and not self._closed

    def close(self) -> None:
        """Let a wait end."""
        self._closed = True
        self._notified.set()

    def _set(self, session: Session, until: float) -> bool:
        """Set the watch, and store the current counters.

        :returns: whether the time was enough.
        """
        try:
            self._seen = self._arm(session, until)
        except contracts.BackendUnavailableError:
            now = time.monotonic()
            self._silent_since = self._silent_since or now
            if now < until or now - self._silent_since > self._patience:
                raise
            return False
        self._armed, self._silent_since = session, None
        return True

    def _arm(self, session: Session, until: float) -> _Seen:
        while True:
            try:
                session.call(
                    until,
                    lambda zk: zk.get_async(self._path, watch=self.notify),
                )
                answer: Any = session.call(
                    until,
                    lambda zk: zk.get_children_async(
                        self._path, watch=self.notify, include_data=True
                    ),
                )
            except errors.NoNodeError:
                session.call(
                    until, lambda zk: zk.ensure_path_async(self._path)
                )
            else:
                stat = answer[1]
                return stat.czxid, stat.version, stat.children_version
