"""One session with ZooKeeper; every request has a time limit.

Independent of members. kazoo connects, pings and reconnects in threads of its
own; a request waits for a response no longer than its limit.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kazoo import client as kazoo
from kazoo import exceptions as errors
from kazoo.handlers import threading as handler
from kazoo.protocol import states

from ironic_ownership import contracts
from ironic_ownership_kazoo_membership import connecting

LOG = logging.getLogger(__name__)

_PASSES = (
    errors.ConnectionLoss,
    errors.ConnectionClosedError,
    errors.OperationTimeoutError,
    errors.SessionMovedError,
    errors.NotReadOnlyCallError,
    handler.KazooTimeoutError,
)
_ANSWERS = errors.NoNodeError, errors.NodeExistsError, errors.BadVersionError


class SessionLostError(contracts.BackendUnavailableError):
    """ZooKeeper ended the session, and removed its nodes."""


class Session:
    """A session; kazoo begins another one when the server ends it.

    :param hosts: of the ensemble, in the form that kazoo expects.
    :param seconds: after which the server ends a silent session.
    :param patience: seconds for connecting to one server.
    :param credentials: user and password, or ``None``.
    :param changed: called from kazoo's thread whenever the connection comes
        or goes; must not block.
    """

    def __init__(
        self,
        hosts: str,
        seconds: float,
        patience: float,
        credentials: tuple[str, str] | None,
        changed: Callable[[], None],
    ) -> None:
        self._hosts = hosts
        self._seconds = seconds
        self._granted = 0.0
        self._changed = changed
        self._connected = threading.Event()
        self._client = connecting.client(
            hosts, seconds, patience, credentials, self._on_granted
        )
        self._client.add_listener(self._on_state)
        self._client.start_async()

    @property
    def id(self) -> int | None:
        """The session's number, by which ZooKeeper names owners of nodes."""
        found = self._client.client_id
        return None if found is None else int(found[0])

    def call(
        self, until: float, request: Callable[[kazoo.KazooClient], Any]
    ) -> Any:
        """Send a request and return its answer.

        :param until: when to give up, by the monotonic clock.
        :param request: calls one of kazoo's ``..._async`` methods.
        :raises BackendUnavailableError: if there is no answer in time.
        :raises MembershipError: if ZooKeeper refuses, with the reason.
        :raises KazooException: for errors that the backend handles.
        """
        with self._translated_failures():
            return self._answer(self._send(request, until), until)

    def get_all(
        self, until: float, paths: Iterable[str]
    ) -> Sequence[tuple[bytes, Any] | None]:
        """Read many nodes concurrently.

        :param until: as for :meth:`call`.
        :returns: data and state of each, or ``None`` if there is none.
        :raises MembershipError: as :meth:`call`.
        """

        def get(path: str) -> Any:
            return self._send(lambda zk: zk.get_async(path), until)

        found: list[tuple[bytes, Any] | None] = []
        with self._translated_failures():
            for sent in [get(path) for path in paths]:
                try:
                    found.append(self._answer(sent, until))
                except errors.NoNodeError:
                    found.append(None)
        return found

    def end(self) -> None:
        """End the session and free its threads. May take seconds."""
        try:
            self._client.stop()
            self._client.close()
        except Exception as exc:  # noqa: BLE001 - of an abandoned connection
            LOG.debug('ending a session with %s: %s', self._hosts, exc)

    def _send(
        self, request: Callable[[kazoo.KazooClient], Any], until: float
    ) -> Any:
        if not self._connected.wait(_left(until)):
            raise self._unavailable('no connection')
        self._check_granted()
        return request(self._client)

    @staticmethod
    def _answer(sent: Any, until: float) -> Any:
        return sent.get(timeout=_left(until))

    @contextlib.contextmanager
    def _translated_failures(self) -> Iterator[None]:
        """Turn exceptions of kazoo into errors of the contract."""
        try:
            yield
        except _ANSWERS:
            raise
        except errors.SessionExpiredError as exc:
            raise SessionLostError(
                f'backend kazoo_membership: {self._hosts} ended the session'
            ) from exc
        except _PASSES as exc:
            raise self._unavailable(str(exc) or type(exc).__name__) from exc
        except errors.KazooException as exc:
            raise contracts.MembershipError(
                f'backend kazoo_membership: {self._hosts} refuses: '
                f'{type(exc).__name__} {exc}'.strip(),
                hint='Check username, password and the ACL of path',
            ) from exc

    def _on_state(self, state: str) -> None:
        if state != states.KazooState.CONNECTED:
            self._connected.clear()
            # A server that lost its data would refuse a client that has seen
            # more than it has, indefinitely. Nothing here relies on that:
            # reads that matter synchronize first.
            self._client.last_zxid = 0
        self._changed()

    def _on_granted(self, seconds: float) -> None:
        self._granted = seconds
        self._connected.set()

    def _check_granted(self) -> None:
        """Refuse a server that ends sessions sooner or later than requested.

        :raises MembershipError: sooner, and another service would take over
            while this one still acts; later, and it would take over late.
        """
        if abs(self._granted - self._seconds) > 0.01:
            raise contracts.MembershipError(
                f'backend kazoo_membership: {self._hosts} keeps a session '
                f'for {self._granted:g} s, not for {self._seconds:g} s',
                hint=f'Set [membership] member_ttl to {self._granted:g}, or '
                'change minSessionTimeout and maxSessionTimeout of ZooKeeper',
            )

    def _unavailable(self, why: str) -> contracts.BackendUnavailableError:
        return contracts.BackendUnavailableError(
            f'backend kazoo_membership: {self._hosts}: {why}',
            hint='Check that ZooKeeper runs and has a quorum',
        )


def _left(until: float) -> float:
    return max(0.0, until - time.monotonic())
