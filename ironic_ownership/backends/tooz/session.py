"""Sessions in the store: one membership, and the observer that never joins.

An id that has left or expired never joins again; the next membership of the
process is another session. Every call may block for as long as the driver
does: the backend makes it in a thread that it can abandon.

The observer has an id of its own. Some drivers always list the id of their own
client, so a member can't learn from its own coordinator that it has expired.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Mapping

from oslo_log import log
from tooz import coordination

from ironic_ownership.backends.tooz import errors, members
from ironic_ownership.backends.tooz.driver import (
    Coordinator,
    Driver,
    Watcher,
    create_group,
)
from ironic_ownership.backends.tooz.members import MemberRecord, newest
from ironic_ownership.contracts import exceptions, model


class _Client:
    """A connection to the store. Threading: any; calls wait for each other."""

    def __init__(self, driver: Driver, group: bytes) -> None:
        self._driver = driver
        self._group = group
        self._lock = threading.RLock()
        self._coordinator: Coordinator | None = None

    def failed(self) -> None:
        """Note a call without an answer."""
        # Without the lock, which the call that got no answer may hold.
        coordinator = self._coordinator
        if coordinator is not None:
            self._driver.failed(coordinator)


class Observer(_Client):
    """The members as the store sees them."""

    def __init__(self, driver: Driver, group: bytes) -> None:
        super().__init__(driver, group)
        self._reader: members.Reader | None = None
        self._watcher: Watcher | None = None
        # None for an entry that cannot be read, which was logged.
        self._records: Mapping[bytes, MemberRecord | None] = {}
        self._view = model.View()
        self._failing_since: float | None = None

    def view(self) -> model.View:
        """Return the members alive now; cheap while nothing has changed."""
        with self._lock:
            coordinator = self._opened()
            if self._reader is None:
                self._reader = self._driver.reader(
                    coordinator, self._group, self._record_of
                )
            try:
                records = self._reader.read()
            except Exception:  # translated by the caller
                self._note_failure()
                raise
            self._failing_since = None
            if records is not self._records:
                self._records = records
                self._view = newest(filter(None, records.values()))
            return self._view

    def sees(self, member_id: bytes) -> bool:
        """Tell whether an id is a member; expired ones are removed."""
        with self._lock:
            self.view()
            return member_id in self._records

    def watcher(self) -> Watcher:
        with self._lock:
            if self._watcher is None:
                self._watcher = self._driver.watcher(
                    self._opened(), self._group
                )
            return self._watcher

    def failed(self) -> None:
        """Note a call without an answer."""
        self._note_failure()
        super().failed()

    def close(self) -> None:
        coordinator, self._coordinator = self._coordinator, None
        self._watcher = None
        if coordinator is not None:
            self._driver.stop(coordinator)

    def _record_of(
        self, member_id: bytes, content: object
    ) -> MemberRecord | None:
        record = MemberRecord.from_data(content)
        if record is None:
            LOG.warning(
                'backend tooz: %r in the group %s cannot be read, or belongs '
                'to another program, and is ignored',
                member_id.decode(errors='replace'),
                self._group.decode(),
            )
        return record

    def _opened(self) -> Coordinator:
        old, since = self._coordinator, self._failing_since
        # ZooKeeper refuses clients that know more than a server that was
        # emptied, and they never give up: after a while, connect again.
        failing = 0.0 if since is None else time.monotonic() - since
        if old is None or failing >= self._driver.call_timeout:
            observer = f'observer.{uuid.uuid4().hex}'.encode()
            self._coordinator = self._driver.open(observer)
            self._reader = self._watcher = self._failing_since = None
            if old is not None:
                self._driver.stop(old)
        assert self._coordinator is not None
        return self._coordinator

    def _note_failure(self) -> None:
        if self._failing_since is None:
            self._failing_since = time.monotonic()


LOG = log.getLogger(__name__)

_GONE = coordination.MemberNotJoined, coordination.GroupNotCreated

_ATTEMPTS = 3
"""Each further one is needed only if the store is emptied in between."""


class Session(_Client):
    """One membership.

    A leave waits for a join that was abandoned but is still under way, and
    undoes it. A call raises :class:`NotMemberError` if the store has lost the
    member.

    :ivar is_over: true once it was left, or ended because no beat came.
    """

    def __init__(
        self, driver: Driver, group: bytes, member: model.Member, revision: int
    ) -> None:
        super().__init__(driver, group)
        self.record = MemberRecord(member, revision)
        self.id = self.record.new_id()
        self.is_over = False
        self._timer: threading.Timer | None = None

    def join(self) -> None:
        with self._lock:
            if self.is_over:
                return
            # Before it connects: from then on, a client may keep it alive by
            # itself.
            self._renew()
            coordinator = self._coordinator = self._driver.open(self.id)
            for _ in range(_ATTEMPTS):
                self._enter(coordinator)
                # If many join together, it can take longer than a member
                # lives.
                self._driver.beat(coordinator)
                with contextlib.suppress(exceptions.NotMemberError):
                    self.check()
                    return
            raise coordination.ToozError('the store does not keep members')

    def beat(self) -> None:
        with self._lock:
            self._driver.beat(self._started())
            # Drivers accept beats after the store has lost the member.
            self.check()
            self._renew()

    def check(self) -> None:
        """Raise :class:`NotMemberError` if the store has no such member."""
        try:
            with self._lock:
                self._started().get_member_capabilities(
                    self._group, self.id
                ).get(timeout=self._driver.request_timeout)
        except _GONE as exc:
            raise errors.not_a_member() from exc

    def leave(self) -> None:
        """Stop being a member, forever."""
        # Before the lock: a join that waits for it must not begin.
        self.is_over = True
        with self._lock:
            coordinator, self._coordinator = self._coordinator, None
            if self._timer is not None:
                self._timer.cancel()
            if coordinator is None:
                return
            try:
                with contextlib.suppress(*_GONE):
                    self._driver.leave(coordinator, self._group)
            finally:
                self._driver.stop(coordinator)

    def close(self) -> None:
        """Free the connection; the member expires by itself."""
        # Without the lock, which a call that hangs may hold.
        coordinator = self._coordinator
        if coordinator is not None:
            self._driver.disconnect(coordinator)

    def _renew(self) -> None:
        """Let the member live for its time from now, and no longer."""
        if self._timer is not None:
            self._timer.cancel()
        # Other stores end a membership without beats themselves.
        if self._driver.lives_without_beats:
            self._timer = threading.Timer(self._driver.ttl, self._expire)
            self._timer.daemon = True
            self._timer.start()

    def _expire(self) -> None:
        try:
            self.leave()
        # The driver may raise any error: without beats it expires anyway.
        except Exception as exc:  # noqa: BLE001
            LOG.debug('a membership without beats is left to expire: %s', exc)

    def _started(self) -> Coordinator:
        if self._coordinator is None:
            raise errors.not_a_member()
        return self._coordinator

    def _enter(self, coordinator: Coordinator) -> None:
        data = self.record.to_data()
        for _ in range(_ATTEMPTS):
            try:
                # An answer got lost then; no other session has this id.
                with contextlib.suppress(coordination.MemberAlreadyExist):
                    self._driver.join(coordinator, self._group, data)
                return
            except coordination.GroupNotCreated:
                create_group(
                    coordinator, self._group, self._driver.request_timeout
                )
        raise coordination.GroupNotCreated(self._group)
