"""Learns from ZooKeeper that the members may have changed.

ZooKeeper tells each watch once, so it is set again at the next wait. What
happens between is found by two counters of the node that is watched: one
grows with its children, one with its data.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from kazoo import exceptions as errors

from ironic_ownership import contracts
from ironic_ownership_kazoo_membership import session as session_

_Seen = tuple[int, int, int]


class Watch:
    """Watches the children and the data of one node.

    Threading: :meth:`wait` from one thread at a time, the others from any.

    :param path: of the node; it is made if it is missing.
    :param patience: seconds after which a server that does not answer is
        said not to; a wait may be shorter than an answer takes.
    """

    def __init__(self, path: str, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._told = threading.Event()
        self._closed = False
        self._armed: session_.Session | None = None
        self._seen: _Seen | None = None
        self._silent_since: float | None = None

    def notify(self, _event: object = None) -> None:
        """Be told that something may have changed."""
        self._told.set()

    def wait(self, session: session_.Session, timeout: float) -> bool:
        """Wait until something may have changed since the last call.

        :param timeout: seconds.
        :raises BackendUnavailableError: if the server does not answer.
        """
        until = time.monotonic() + timeout
        if self._armed is not session or self._told.is_set():
            self._armed = None
            self._told.clear()
            before = self._seen
            if not self._set(session, until):
                return False
            if before != self._seen:
                return True
        self._told.wait(max(0.0, until - time.monotonic()))
        return self._told.is_set() and not self._closed

    def close(self) -> None:
        """Let a wait end."""
        self._closed = True
        self._told.set()

    def _set(self, session: session_.Session, until: float) -> bool:
        """Set the watch, and note what there is to be seen.

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

    def _arm(self, session: session_.Session, until: float) -> _Seen:
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
