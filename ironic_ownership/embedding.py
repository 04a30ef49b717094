"""The host process inside of another program: what such a program imports.

It serves in threads of the embedding program. It handles no signal, sets up
no log, changes no global configuration, and reads only the files that it is
given. Everything else here belongs to the program: when to act, and what to
do when the place of its host is lost.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from oslo_config import cfg
from oslo_log import log

from ironic_ownership import program, wiring
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.model import Node
from ironic_ownership.engine.host.action_guard import NO_INSTANCE, Permission
from ironic_ownership.engine.host.embedding_monitors import (
    LostPlace,
    PlaceMonitor,
    RecordMonitor,
)
from ironic_ownership.engine.host.feed import Feed, FeedChanges, NodeView
from ironic_ownership.engine.host.process import LEAVE_TIMEOUT, Host
from ironic_ownership.engine.membership.registration import Role
from ironic_ownership.wiring import unknown_options
from ironic_ownership.wiring.opts import Overrides, apply

LOG = log.getLogger(__name__)

PlaceState = Role

T = TypeVar('T')

__all__ = (
    'NO_INSTANCE',
    'EmbeddedHost',
    'Feed',
    'FeedChanges',
    'LostPlace',
    'Node',
    'NodeView',
    'Permission',
    'PlaceState',
    'exceptions',
)


class EmbeddedHost:
    """One service, served by threads of the embedding program.

    Several processes may serve one host: the first is active, and the others
    stand by until its place is free. So a program waits until it is active
    before it accepts work.

    Threading: any thread; :meth:`start` and :meth:`stop` once each.

    :param config_files: configuration files in the format of
        ``ironic-ownership.conf``; none is read by default.
    :param config_dirs: directories whose ``*.conf`` files are read after
        them.
    :param overrides: values that count more than those of the files. Every
        option can be set, with its name and not with a deprecated one.
    :param on_lost_place: called in a thread of this object when the process
        was active and is no longer, because another process has taken the
        place of the host, an operator has forced the service down, or an
        error has ended its threads. It goes on to serve as a standby, unless
        the program ends. Not called while heartbeats only fail for a time:
        the state is ``suspended`` then.
    """

    def __init__(
        self,
        *,
        config_files: Sequence[str] = (),
        config_dirs: Sequence[str] = (),
        overrides: Overrides | None = None,
        on_lost_place: Callable[[LostPlace], None] | None = None,
    ) -> None:
        self._files = program.arguments(config_files, config_dirs)
        self._overrides = dict(overrides or {})
        self._on_lost_place = on_lost_place
        self._thread: threading.Thread | None = None
        self._host: Host | None = None
        self._place: PlaceMonitor | None = None

    def start(self) -> None:
        """Read the configuration, and begin to serve; return at once.

        Servers that do not answer yet are waited for in the background.

        :raises OwnershipError: if the configuration can't be used, or
            something that it names.
        """
        if self._host is not None:
            raise RuntimeError('an embedded host starts only once')
        try:
            conf = new(self._files, 'embedded', logs=False, search=False)
            apply(conf, self._overrides)
        except cfg.Error as exc:
            raise exceptions.ConfigurationError([str(exc)]) from exc
        wired = wiring.Wiring(conf)
        try:
            host = wired.host(embedded=True)
            # Its remarks are about options of the program.
            unknown_options.remarks(conf)
        except BaseException:
            wired.close()
            raise
        for remark in wired.settings.remarks:
            LOG.warning('%s', remark)
        if conf.health.listen:
            LOG.warning('[health] listen has no effect in this program')
        wake = host.refresh_loop.wake
        records = RecordMonitor(host.context, host.feed, wake)
        host.member.registration.on_row = records.row_read
        host.member.registration.wants_predecessor = True
        place = PlaceMonitor(host.member, host.feed, wake, self._on_lost_place)
        host.workers |= {'records': records, 'place': place}
        self._host, self._place = host, place
        self._thread = threading.Thread(
            target=_serve,
            args=(wired, host, place),
            name='ownership',
            daemon=True,
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop to serve, and give up the place for the next process.

        Returns when the place is given up, or after a few heartbeat
        intervals if a server does not answer. The row of the service and its
        records stay. Does nothing if it has not started, or has stopped.
        """
        if self._host is not None:
            self._host.stop()
        thread = self._thread
        # In a callback it may be this one, which is about to end.
        if thread is not None and thread is not threading.current_thread():
            # A start may wait for Ironic much longer.
            thread.join(4 * LEAVE_TIMEOUT)

    @property
    def name(self) -> str:
        """The host name of the service, in lower case."""
        return _started(self._host).context.host

    @property
    def state(self) -> PlaceState:
        """The state of this moment, as far as this process knows."""
        if self._place is None:
            return PlaceState.STARTING
        return self._place.state

    @property
    def predecessor(self) -> int:
        """The epoch of the service before this process became active.

        That of the last registration, or a little greater: each fence since
        then has raised it by one. 0 if there was none.
        """
        return _started(self._host).member.registration.predecessor

    @property
    def feed(self) -> Feed:
        """The nodes that the service owns; answers without a request."""
        return _started(self._host).feed

    def refresh(self) -> None:
        """Request a refresh now; return at once.

        For a program that has changed what a refused claim depends on.
        """
        _started(self._host).refresh_loop.wake()

    def subscribe(self, receive: Callable[[FeedChanges], None]) -> None:
        """Call a function with each change of the feed, in order.

        In the thread of ``on_lost_place``, and beginning with all nodes that
        are owned now.
        """
        _started(self._place).subscribe(receive)

    def wait_until_active(self, timeout: float) -> bool:
        """Wait until this process holds the place of its host.

        For as long as another process of the host is active, or an operator
        forces the service down, or a server does not answer. The feed is
        complete after the first refresh that follows:
        :meth:`Feed.wait_until_complete`.

        :param timeout: seconds to wait at most.
        :returns: whether it may act; false after ``timeout``, or if it was
            stopped.
        :raises OwnershipError: the error that has ended its threads.
        """
        return _started(self._place).wait_until_active(timeout)

    def guard(
        self,
        node_uuid: str,
        patience: float = 30.0,
        *,
        instance_uuid: str | None = None,
    ) -> Permission:
        """Permit to act on a node, or refuse.

        For any number of threads; a few of them read at the same time, in
        the order of their calls. A call without waiting costs two queries
        and two requests to Ironic.

        :param patience: seconds for which a refusal is waited for that may
            end by itself: no heartbeat has succeeded lately, the node has no
            owner yet, a server does not answer.
        :param instance_uuid: the instance that has to be on the node;
            :data:`NO_INSTANCE` if there may be none, as before a deployment;
            ``None`` if that does not matter.
        :returns: the permission; confirm it before each step of a long
            operation.
        :raises OwnershipError: the refusal, with ``code``, text and
            ``hint``: :class:`FencedError`, :class:`NotOwnerError`,
            :class:`NotFoundError`, :class:`OtherInstanceError`,
            :class:`WrongScopeError`, :class:`NodeOutOfServiceError`, or an
            outage.
        """
        return _started(self._host).guard.check(
            node_uuid, patience=patience, instance_uuid=instance_uuid
        )


_SIGNALS = {
    *(signal.SIGALRM, signal.SIGHUP, signal.SIGINT),
    *(signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2),
}
"""What a program may handle."""


def _leave_signals() -> None:
    """Leave signals to the program: for this thread, and all that it starts.

    A thread that starts another one looks for signals, and takes one that is
    on its way to the main thread. Python then remembers it, but does not wake
    the main thread, so that a program that waits there never stops.
    """
    # The threads of eventlet are all in the main one.
    if threading.get_native_id() != os.getpid():
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def _serve(wired: wiring.Wiring, host: Host, place: PlaceMonitor) -> None:
    """Serve until the stop, or an error."""
    _leave_signals()
    failure: Exception | None = None
    try:
        host.run()
    except Exception as exc:  # noqa: BLE001 - given to those who wait
        failure = exc
    # Not for ever: a callback of the program may wait for the stop.
    host.scheduler.join('place', LEAVE_TIMEOUT)
    place.ended(failure)
    wired.close()


def _started(part: T | None) -> T:
    if part is None:
        raise RuntimeError('the embedded host was not started')
    return part
