"""Reads who is a member, under an id of its own that never joins.

Some drivers never miss the id they are asked under, so a member can't learn
from its own coordinator that it has expired.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping

from oslo_log import log

from ironic_ownership.backends.tooz import member_reader
from ironic_ownership.backends.tooz.driver import Coordinator, Store, Watcher
from ironic_ownership.backends.tooz.member_record import Advert, newest
from ironic_ownership.contracts import model

LOG = log.getLogger(__name__)


class Observer:
    """The members as the store sees them.

    Threading: any; the calls wait for each other.
    """

    def __init__(self, store: Store, group: bytes) -> None:
        self._store = store
        self._group = group
        self._turn = threading.Lock()
        self._coordinator: Coordinator | None = None
        self._reader: member_reader.Reader[Advert | None] | None = None
        self._watcher: Watcher | None = None
        # A stranger's is None, and was told of.
        self._adverts: Mapping[bytes, Advert | None] = {}
        self._view = model.View()
        self._failing_since: float | None = None

    def view(self) -> model.View:
        """Return the members alive now; cheap while nothing has changed."""
        with self._turn:
            return self._read()

    def sees(self, member_id: bytes) -> bool:
        """Tell whether an id is a member; expired ones are removed by it."""
        with self._turn:
            self._read()
            return member_id in self._adverts

    def watcher(self) -> Watcher:
        """Return what tells of changes."""
        with self._turn:
            if self._watcher is None:
                self._watcher = self._store.watcher(
                    self._opened(), self._group
                )
            return self._watcher

    def failed(self) -> None:
        """Be told that a call was not answered."""
        self._note_failure()
        coordinator = self._coordinator
        if coordinator is not None:
            self._store.failed(coordinator)

    def close(self) -> None:
        """Free the connection."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close()
        coordinator, self._coordinator = self._coordinator, None
        if coordinator is not None:
            self._store.stop(coordinator)

    def _read(self) -> model.View:
        coordinator = self._opened()
        if self._reader is None:
            self._reader = self._store.reader(
                coordinator, self._group, self._advert_of
            )
        try:
            adverts = self._reader.read()
        except Exception:  # whatever the driver raises, the caller tells
            self._note_failure()
            raise
        self._failing_since = None
        if adverts is not self._adverts:
            self._adverts = adverts
            self._view = newest(filter(None, adverts.values()))
        return self._view

    def _advert_of(self, member_id: bytes, content: object) -> Advert | None:
        advert = Advert.from_data(content)
        if advert is None:
            LOG.warning(
                'backend tooz: %r in the group %s is none of ours and is '
                'ignored',
                member_id.decode(errors='replace'),
                self._group.decode(),
            )
        return advert

    def _opened(self) -> Coordinator:
        old = self._coordinator
        if old is None or self._has_failed_for_long():
            observer = f'observer.{uuid.uuid4().hex}'.encode()
            self._coordinator = self._store.open(observer)
            self._reader = self._watcher = self._failing_since = None
            if old is not None:
                self._store.stop(old)
        assert self._coordinator is not None
        return self._coordinator

    def _has_failed_for_long(self) -> bool:
        """Tell whether to connect anew instead of waiting for the client.

        ZooKeeper refuses clients that know more than a server that was
        emptied, and they never give up.
        """
        since = self._failing_since
        return (
            since is not None
            and time.monotonic() - since >= self._store.patience
        )

    def _note_failure(self) -> None:
        if self._failing_since is None:
            self._failing_since = time.monotonic()
