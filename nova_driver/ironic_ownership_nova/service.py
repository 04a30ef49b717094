"""The embedded host of this nova-compute: start, stop, return, end."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.embedding import (
    EmbeddedHost,
    Feed,
    FeedChanges,
    LostPlace,
    Permission,
    PlaceState,
    exceptions,
)

LOG = log.getLogger(__name__)

EXIT_STATUS = 1
"""Of a process that lost its place, so that a supervisor starts it again."""

LOST = frozenset(
    (PlaceState.STANDBY, PlaceState.FORCED_DOWN, PlaceState.FAILED)
)
_LONG_WAIT = 10.0
_POLL = 1.0

Make = Callable[[Callable[[LostPlace], None]], EmbeddedHost]


class Service:
    """This nova-compute as a service of ironic-ownership.

    Threading: any thread; one at a time starts and stops.

    :param make: makes a new embedded host.
    :param follow: receives the changes of what is owned, in order, in a
        thread of its own, once all owned nodes are known.
    :param patience: seconds for which the guard waits.
    :param prepare: called once it is active, with the epoch of the service
        before that.
    :ivar is_ending: whether the process has lost its place, and ends.
    """

    def __init__(
        self,
        make: Make,
        follow: Callable[[FeedChanges], None],
        patience: float,
        prepare: Callable[[int], None],
    ) -> None:
        self._make = make
        self._follow = follow
        self._patience = patience
        self._prepare = prepare
        self._host: EmbeddedHost | None = None
        self.is_ending = self._is_closed = False

    def start(self) -> None:
        """Serve, and wait until this process is active.

        A second process of the host waits here as its standby. It consumes
        no queue yet, so Nova sends it nothing.

        :raises OwnershipError: if the configuration can't be used.
        """
        host, said = self._begin(), ''
        while True:
            waits = ''
            if not host.wait_until_active(_LONG_WAIT):
                waits = f'waiting to become active: {host.state}'
            elif not host.feed.wait_until_complete(_LONG_WAIT):
                waits = f'waiting for the first list of nodes: {host.state}'
            if waits not in ('', said):
                LOG.info(waits)
            said = waits
            if not waits:
                self._host = host
                if host.state not in LOST:
                    break
                # The loss came before that, and has ended nothing.
                self._host = None
        self._prepare(host.predecessor)
        self._serve(host, host.feed.generation)

    def rejoin(self) -> None:
        """Serve again after :meth:`stop`.

        If another process of the host has become active, this one ends.
        """
        host = self._begin()
        for is_ready in host.wait_until_active, host.feed.wait_until_complete:
            while not is_ready(_POLL):
                if self._gives_up(host):
                    host.stop()
                    return
        self._host = host
        # Others have had its nodes: all of them count as new.
        self._serve(host, generation=-1)
        if self._gives_up(host):
            self.stop()

    def _gives_up(self, host: EmbeddedHost) -> bool:
        if not self._is_closed and host.state in LOST:
            self._end(f'{host.name} is {host.state}')
        return self._is_closed or self.is_ending

    def close(self) -> None:
        """Give up the place for good, also while :meth:`rejoin` waits."""
        self._is_closed = True
        self.stop()

    def stop(self) -> None:
        """Give up the place; does nothing if it has not started."""
        host, self._host = self._host, None
        if host is not None:
            host.stop()

    def refresh(self) -> None:
        """Request a refresh; does nothing while this does not serve."""
        host = self._host
        if host is not None:
            host.refresh()

    @property
    def feed(self) -> Feed | None:
        """The nodes that may be offered; ``None`` while there are none.

        That is so until the first list is complete, and after the service
        has lost the right to act.
        """
        host = self._host
        if host is None or not host.feed.is_complete:
            return None
        return host.feed

    def permit(
        self, node_uuid: str, *, instance_uuid: str | None
    ) -> Permission:
        """Ask the guard; see :meth:`EmbeddedHost.guard`."""
        host = self._host
        if host is None:
            raise exceptions.FencedError(
                'this nova-compute has given up its nodes',
                hint='It takes them back when it is started again, or '
                'nova-conductor answers again',
            )
        return host.guard(
            node_uuid, self._patience, instance_uuid=instance_uuid
        )

    def _begin(self) -> EmbeddedHost:
        host = self._make(self._lost_place)
        host.start()
        return host

    def _serve(self, host: EmbeddedHost, generation: int) -> None:
        LOG.info('%s is active', host.name)
        threading.Thread(
            target=self._run_follower,
            args=(host, generation),
            name='node-follower',
            daemon=True,
        ).start()

    def _run_follower(self, host: EmbeddedHost, generation: int) -> None:
        feed = host.feed
        while self._host is host:
            feed.wait(generation, _POLL)
            # A fenced service owns nothing, and gets most of it back.
            if not feed.wait_until_complete(_POLL):
                continue
            changes = feed.changes_since(generation)
            if not changes:
                continue
            generation = changes.generation
            try:
                self._follow(changes)
            except Exception:
                # The next pass of Nova does the same, only later.
                LOG.exception('gained and lost nodes wait for the next pass')

    def _lost_place(self, lost: LostPlace) -> None:
        if self._host is not None:
            self._end(lost.reason)

    def _end(self, reason: str) -> None:
        """End this process: another one consumes the same queue.

        Nothing is permitted from now on. Nova stops to take requests. Those
        that it has taken, which no other process will see, are refused and
        end as any that fails. Then it calls ``cleanup_host``.
        """
        LOG.critical('this process ends: %s', reason)
        self.is_ending = True
        # To the thread that handles it: right after SIGCONT the kernel may
        # deliver a signal of the process to another one, which does not wake
        # this one from its wait, and Nova would never stop.
        main_thread = threading.main_thread().ident
        assert main_thread is not None
        signal.pthread_kill(main_thread, signal.SIGTERM)
        # In a thread of its own: the stop waits for the one that calls here.
        threading.Thread(target=self.stop, name='end', daemon=True).start()


def exit_process() -> None:
    """Exit after a lost place, when no operation is in progress any more."""
    logging.shutdown()
    os._exit(EXIT_STATUS)
