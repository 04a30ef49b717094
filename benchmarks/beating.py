"""Members that beat and poll like host processes, one thread each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from benchmarks import stores
from ironic_ownership.backends.tooz import backend as tooz_backend
from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.db import heartbeats

TIMING = stores.Timing()
WATCH_INTERVAL = 1.0

SETTINGS = model.MemberSettings(
    (
        model.PolicySettings.of('shard_key', {'shard_key': 'rack-1'}),
        model.PolicySettings.of('peer_list', {'peer_list': ()}),
    )
)


class BeatingMember(threading.Thread):
    """One member, with the calls of a host process's heartbeat thread.

    :param phase: seconds to wait before the first beat, so that the beats
        of all members are spread.
    :ivar may_poll: set when all have joined.
    :ivar longest: seconds between the starts of two beats, at most.
    :ivar beats: how many there were, and how many of them were ``late``: by
        more than a heartbeat interval.
    :ivar missed: how many calls failed.
    """

    def __init__(
        self,
        member: backend.MembershipBackend,
        phase: float,
        stopping: threading.Event,
    ) -> None:
        super().__init__(daemon=True)
        self.reset()
        self._last = 0.0
        self.error: Exception | None = None
        self._member = member
        self._phase = phase
        self._stopping = stopping
        self.may_poll = threading.Event()
        self._watches = backend.Capability.WATCH in member.capabilities

    def reset(self) -> None:
        """Count from now on."""
        self.longest = 0.0
        self.beats = self.late = self.missed = 0

    def run(self) -> None:
        """Beat and poll until told to stop."""
        self._stopping.wait(self._phase)
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                self._beat(started)
                self._poll_until(started + TIMING.heartbeat_interval)
            except exceptions.BackendUnavailableError:
                # Like a host process: the next beat may be in time.
                self.missed += 1
            except Exception as exc:  # noqa: BLE001 - shown in the table
                self.error = exc
                return

    def close(self) -> None:
        """Free the connections of the member."""
        self._member.close()

    def _beat(self, started: float) -> None:
        self._member.beat()
        if self._last:
            gap = started - self._last
            self.longest = max(self.longest, gap)
            self.late += gap > 2 * TIMING.heartbeat_interval
        self.beats += 1
        self._last = started
        if self.may_poll.is_set():
            self._member.view()

    def _poll_until(self, ends: float) -> None:
        while (left := ends - time.monotonic()) > 0:
            if not self.may_poll.is_set():
                self._stopping.wait(left)
                return
            if not self._watches:
                self._stopping.wait(min(left, WATCH_INTERVAL))
            if self._stopping.is_set():
                return
            if not self._watches or self._member.watch(left):
                self._member.view()


def started(
    build: Callable[[int], backend.MembershipBackend],
    numbers: Sequence[int],
    stopping: threading.Event,
) -> list[BeatingMember]:
    """Let members join, one after the other, and start them.

    :param build: builds the member of a number.
    """
    threads = []
    for number in numbers:
        member = build(number)
        member.join(f'host{number}', f'{number:032x}', SETTINGS)
        phase = TIMING.heartbeat_interval * (number % 97) / 97
        threads.append(BeatingMember(member, phase, stopping))
        threads[-1].start()
    return threads


def build(url: str) -> backend.MembershipBackend:
    """Build a member of the store at a URL: a database, or one of tooz."""
    kind: type[backend.MembershipBackend] = tooz_backend.ToozBackend
    settings = {'backend_url': url, 'group': 'benchmark'}
    if url.startswith(('mysql', 'postgresql', 'sqlite')):
        kind, settings = heartbeats.DatabaseBackend, {'connection': url}
    return kind(
        settings,
        member_ttl=TIMING.member_ttl,
        call_timeout=TIMING.heartbeat_interval,
    )
