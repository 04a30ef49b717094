"""Reader of the members, with an id of its own that never joins.

Some drivers always list the id of their own client, so a member can't learn
from its own coordinator that it has expired.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping

from oslo_log import log

from ironic_ownership.backends.tooz import members
from ironic_ownership.backends.tooz.driver import Coordinator, Driver, Watcher
from ironic_ownership.backends.tooz.members import MemberRecord, newest
from ironic_ownership.contracts import model

LOG = log.getLogger(__name__)


class Observer:
    """The members as the store sees them.

    Threading: any; the calls wait for each other.
    """

    def __init__(self, driver: Driver, group: bytes) -> None:
        self._driver = driver
        self._group = group
        self._lock = threading.Lock()
        self._coordinator: Coordinator | None = None
        self._reader: members.Reader[MemberRecord | None] | None = None
        self._watcher: Watcher | None = None
        # None for an entry that cannot be read, which was logged.
        self._records: Mapping[bytes, MemberRecord | None] = {}
        self._view = model.View()
        self._failing_since: float | None = None

    def view(self) -> model.View:
        """Return the members alive now; cheap while nothing has changed."""
        with self._lock:
            return self._read()

    def sees(self, member_id: bytes) -> bool:
        """Tell whether an id is a member; expired ones are removed."""
        with self._lock:
            self._read()
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
        # Without the lock, which the call that got no answer may hold.
        coordinator = self._coordinator
        if coordinator is not None:
            self._driver.failed(coordinator)

    def close(self) -> None:
        coordinator, self._coordinator = self._coordinator, None
        self._watcher = None
        if coordinator is not None:
            self._driver.stop(coordinator)

    def _read(self) -> model.View:
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
        old = self._coordinator
        if old is None or self._has_failed_for_long():
            observer = f'observer.{uuid.uuid4().hex}'.encode()
            self._coordinator = self._driver.open(observer)
            self._reader = self._watcher = self._failing_since = None
            if old is not None:
                self._driver.stop(old)
        assert self._coordinator is not None
        return self._coordinator

    def _has_failed_for_long(self) -> bool:
        """Tell whether to connect again instead of waiting for the client."""
        # ZooKeeper refuses clients that know more than a server that was
        # emptied, and they never give up.
        since = self._failing_since
        return (
            since is not None
            and time.monotonic() - since >= self._driver.call_timeout
        )

    def _note_failure(self) -> None:
        if self._failing_since is None:
            self._failing_since = time.monotonic()
