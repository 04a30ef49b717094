"""Backends that each break one promise, for the tests of their suites.

Built on the memory backend, whose rows they use.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import ClassVar

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from ironic_ownership_plugin_kit import fakes

EMPTY = model.MemberSettings()
_GHOST = model.Member('ghost', 'boo')


class Broken(fakes.WatchedMemoryBackend):
    """Access to the rows of the store, past its rules."""

    def raw_put(self, member: model.Member) -> None:
        self._store.rows[member.host, member.incarnation] = memory._Row(
            member, self._store.clock() + self.member_ttl
        )

    def raw_drop(self, *, host: str) -> None:
        for key in [k for k in self._store.rows if k[0] == host]:
            self._store.rows.pop(key)

    @property
    def known(self) -> bool:
        return self._key in self._store.rows

    @property
    def last(self) -> model.Member:
        return self._store.rows[self._key].member


class SeesGhostWhenAlone(Broken):
    def view(self):
        return model.View.of(super().view().members or [_GHOST])


class ForgetsSettings(Broken):
    def join(self, host, incarnation, settings):
        super().join(host, incarnation, EMPTY)


class OrdersByArrival(Broken):
    def view(self):
        alive = super().view().members
        rows = [row.member for row in self._store.rows.values()]
        return model.View(tuple(m for m in rows if m in alive))


class SeesItselfFirst(Broken):
    def view(self):
        members = super().view().members
        mine = [m for m in members if (m.host, m.incarnation) == self._key]
        rest = [m for m in members if m not in mine]
        return model.View((*mine, *rest))


class JoinsInTheYearZero(Broken):
    def _put(self, member):
        super()._put(dataclasses.replace(member, joined_at=0))


class ShowsTheExpired(Broken):
    def view(self):
        self._store.check()
        rows = self._store.rows.values()
        return model.View.of(row.member for row in rows)


class AlwaysAnnouncesTheTimeToLive(Broken):
    def view(self):
        return dataclasses.replace(super().view(), expires_in=self.member_ttl)


class BeatsItselfBack(Broken):
    def beat(self):
        if self.known:
            self.raw_put(self.last)
        super().beat()


class BeatsInVain(Broken):
    def beat(self):
        with self._store.lock:
            self._own()


class BeatsAsNewcomer(Broken):
    def beat(self):
        super().beat()
        self.raw_put(dataclasses.replace(self.last, joined_at=-1.0))


class BeatsForTheHost(Broken):
    def beat(self):
        super().beat()
        for member in super().view().members:
            if member.host == self._key[0]:
                self.raw_put(member)


class AdvertisesUninvited(Broken):
    def advertise(self, settings):
        if self._key != ('', ''):
            super().advertise(settings)


class AdvertisesUntilTheNextBeat(Broken):
    _first = EMPTY

    def join(self, host, incarnation, settings):
        self._first = settings
        super().join(host, incarnation, settings)

    def beat(self):
        super().beat()
        self.raw_put(dataclasses.replace(self.last, settings=self._first))


class AdvertisesItselfBack(Broken):
    def advertise(self, settings):
        if self.known:
            self.raw_put(self.last)
        super().advertise(settings)


class AdvertisesForTheHost(Broken):
    def advertise(self, settings):
        super().advertise(settings)
        for member in self.view().members:
            if member.host == self._key[0]:
                self.raw_put(dataclasses.replace(member, settings=settings))


class LeavesInVain(Broken):
    def leave(self):
        self._store.check()


class LeavesWithTheHost(Broken):
    def leave(self):
        super().leave()
        self.raw_drop(host=self._key[0])


class StrangerLeavesForAll(Broken):
    def leave(self):
        super().leave()
        if self._key == ('', ''):
            self._store.rows.clear()


class NeverJoinsTwice(Broken):
    _joined = False

    def join(self, host, incarnation, settings):
        if self._joined and self._store.alive(self._key) is None:
            raise exceptions.NotMemberError('joined once already')
        self._joined = True
        super().join(host, incarnation, settings)


class ReadsFromOneThread(Broken):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._thread = threading.get_ident()

    def view(self):
        if threading.get_ident() != self._thread and self.known:
            raise RuntimeError('another thread')
        return super().view()


class BelievesTheWallClock(Broken):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._built = time.time()

    def view(self):
        self._store.check()
        rows = self._store.rows.values()
        passed = abs(time.time() - self._built) > 1800
        now = self._store.clock() + (3600 if passed else 0)
        return model.View.of(r.member for r in rows if r.expires_at > now)


class ClosesAndLeaves(Broken):
    def close(self):
        self._store.rows.pop(self._key, None)


class RejoinsAlone(Broken):
    def join(self, host, incarnation, settings):
        self._store.check()
        if (host, incarnation) in self._store.rows:
            self.raw_drop(host=host)
        super().join(host, incarnation, settings)


class RejoinsOnlyInPlaceOfOthers(Broken):
    def join(self, host, incarnation, settings):
        if self._key == (host, incarnation) and not self._store.alive(
            self._key
        ):
            self._store.check()
            self.raw_drop(host=host)
        super().join(host, incarnation, settings)


class RejoinsInVain(Broken):
    def join(self, host, incarnation, settings):
        row = self._store.alive((host, incarnation))
        super().join(host, incarnation, settings)
        if row is not None:
            self._store.rows[host, incarnation] = row


class JoinsWithEveryonesSettings(Broken):
    def join(self, host, incarnation, settings):
        super().join(host, incarnation, settings)
        for member in self.view().members:
            if member.host == host:
                self.raw_put(dataclasses.replace(member, settings=settings))


class CutsTheIncarnation(Broken):
    def join(self, host, incarnation, settings):
        super().join(host, incarnation[:63], settings)


class KnowsIncarnationsOnly(Broken):
    def join(self, host, incarnation, settings):
        self._store.check()
        for key in [k for k in self._store.rows if k[1] == incarnation]:
            if key[0] != host:
                self._store.rows.pop(key)
        super().join(host, incarnation, settings)


class LosesConcurrentJoins(Broken):
    all_have_read: ClassVar[threading.Barrier] = threading.Barrier(6)
    is_read = False

    def join(self, host, incarnation, settings):
        before = dict(self._store.rows)
        if self.is_read:
            self.all_have_read.wait()
        super().join(host, incarnation, settings)
        mine = self._store.rows[self._key]
        self._store.rows = {**before, self._key: mine}

    def view(self):
        # Instances read the view once before they join concurrently.
        self.is_read = self._key == ('', '')
        return super().view()


class Hangs(Broken):
    """A call waits for the store indefinitely."""

    def hang(self):
        if not self._store.available:
            self._store.hanging.set()
            self._store.released.wait()


class HangsInLeave(Hangs):
    def leave(self):
        self.hang()
        super().leave()


class HangsInWatch(Hangs):
    def watch(self, timeout):
        self.hang()
        return super().watch(timeout)


class FailsWithTheDriversError(Broken):
    def view(self):
        if not self._store.available and self._key == ('', ''):
            raise ConnectionResetError
        return super().view()


class AdvertisesDuringAnOutage(Broken):
    def advertise(self, settings):
        if self._store.available:
            super().advertise(settings)


class FailsToClose(Broken):
    def close(self):
        self._store.check()


class ForgetsInAnOutage(Broken):
    def view(self):
        if not self._store.available:
            self._store.rows.clear()
        return super().view()


class GivesUpAfterAFailedJoin(Broken):
    _failed = False

    def join(self, host, incarnation, settings):
        if self._failed:
            raise exceptions.BackendUnavailableError('it was down before')
        self._failed = not self._store.available
        super().join(host, incarnation, settings)


class ReturnsUnasked(Broken):
    def beat(self):
        self._return()
        super().beat()

    def advertise(self, settings):
        self._return()
        super().advertise(settings)

    def _return(self):
        if self._key != ('', '') and not self._store.rows:
            self.raw_put(model.Member(*self._key, settings=EMPTY))


class NeedsItsOwnRow(Broken):
    _first = True

    def join(self, host, incarnation, settings):
        if not self._first and not self._store.rows:
            raise exceptions.MembershipError('the store has lost its data')
        super().join(host, incarnation, settings)
        self._first = False

    def leave(self):
        super().leave()
        self._first = True


class RejoinsAsIfNothingWasLost(Broken):
    _joined_at: float | None = None

    def join(self, host, incarnation, settings):
        super().join(host, incarnation, settings)
        if self._joined_at is None:
            self._joined_at = self.last.joined_at
        self.raw_put(dataclasses.replace(self.last, joined_at=self._joined_at))


class DeclaresNoWatch(Broken):
    capabilities = memory.MemoryBackend.capabilities


class NotifiesWithoutEnd(Broken):
    def watch(self, timeout):
        return True


class Notifies(Broken):
    """Compares other values than the view."""

    _last: object = None

    def seen(self):
        raise NotImplementedError

    def watch(self, timeout):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            seen = self.seen()
            if self.has_news(seen):
                self._last = seen
                return True
            self._last = seen
            time.sleep(0.005)
        return False

    def has_news(self, seen):
        return seen != self._last


class NotifiesOfHosts(Notifies):
    def seen(self):
        return self.view().hosts


class NotifiesOfTheKnown(Notifies):
    def seen(self):
        self._store.check()
        return list(self._store.rows)


class NotifiesOfArrivals(Notifies):
    def seen(self):
        return {(m.host, m.incarnation) for m in self.view().members}

    def has_news(self, seen):
        return bool(seen - (self._last or set()))


class NotifiesOfDepartures(Notifies):
    def seen(self):
        return {(m.host, m.incarnation) for m in self.view().members}

    def has_news(self, seen):
        return bool((self._last or set()) - seen)


class NotifiesWhileItWaits(Broken):
    def watch(self, timeout):
        self._reported = self.view().checksum
        return super().watch(timeout)


class ReadsWhenNoWatchWaits(Broken):
    _waiting = False

    def watch(self, timeout):
        self._waiting = True
        try:
            deadline = time.monotonic() + timeout
            while time.monotonic() < deadline:
                checksum = super().view().checksum
                if checksum != self._reported:
                    self._reported = checksum
                    return True
                time.sleep(0.005)
            return False
        finally:
            self._waiting = False

    def view(self):
        while self._waiting:
            time.sleep(0.01)
        return super().view()


class NotifiesUntilTheFirstOutage(Broken):
    def watch(self, timeout):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self._store.interruptions:
                self._store.polls += 1
                time.sleep(0.005)
                continue
            if super().watch(0):
                return True
            time.sleep(0.005)
        return False


class AnswersTheFirstJoinLate(Broken):
    """No broken one, but a busy machine's: a first answer comes too late."""

    _was_asked = False

    def join(self, host, incarnation, settings):
        first, self._was_asked = not self._was_asked, True
        if first:
            raise exceptions.BackendUnavailableError('no answer in time')
        super().join(host, incarnation, settings)
