"""Members as ephemeral nodes of ZooKeeper, one for each process.

A node is named by host and incarnation and holds the settings as JSON. It
ends with the session of its process. ZooKeeper ends the session of a process
that is killed or partitioned, after ``member_ttl``; a lease in the process
itself does when the heartbeat hangs. Times are those of ZooKeeper's clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from kazoo import exceptions as errors

from ironic_ownership import contracts
from ironic_ownership_kazoo_membership import access, node, watching
from ironic_ownership_kazoo_membership.lease import Lease
from ironic_ownership_kazoo_membership.session import Session, SessionLostError

_SHARE = 0.9
"""The share of the time for a call that requests may take."""


class KazooBackend(contracts.MembershipBackend):
    """Membership through the children of one node.

    A beat is a transaction that only checks: like every transaction it needs
    the quorum, and so proves that the session is alive. A read does not: a
    partitioned server still answers it.
    """

    contract_version = 1
    capabilities: ClassVar[frozenset[contracts.Capability]] = frozenset(
        {
            contracts.Capability.SHARED,
            contracts.Capability.PERSISTENT,
            contracts.Capability.STORE_CLOCK,
            contracts.Capability.WATCH,
        }
    )
    options = access.OPTIONS

    def __init__(
        self,
        settings: Mapping[str, contracts.Value],
        *,
        member_ttl: float,
        call_timeout: float,
    ) -> None:
        super().__init__(
            settings, member_ttl=member_ttl, call_timeout=call_timeout
        )
        self._hosts = access.servers(settings['servers'])
        self._credentials = access.credentials(
            settings.get('username'), settings.get('password')
        )
        self._root = f'{settings["path"]}/members'
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._path: str | None = None
        self._watch = watching.Watch(self._root, call_timeout * _SHARE)
        self.lease = Lease(member_ttl, self._lapse, self.clock)

    @staticmethod
    def clock() -> float:
        """Return the time for the lease, in seconds."""
        return time.monotonic()

    def join(
        self, host: str, incarnation: str, settings: contracts.MemberSettings
    ) -> None:
        """Become a member."""
        until, started = self._until(), self.clock()
        path = f'{self._root}/{node.name(host, incarnation)}'
        self._path = path
        # Before the response: without one, the node may exist all the same.
        self.lease.begin(started)
        self._create(path, settings.to_json().encode(), until)

    def beat(self) -> None:
        """Stay a member for another ``member_ttl``."""
        started = self.clock()
        self._change_own(lambda change, path: change.check(path, -1))
        if not self.lease.renew(started):
            raise _not_member()

    def advertise(self, settings: contracts.MemberSettings) -> None:
        """Replace the settings that this member advertises."""
        data = settings.to_json().encode()

        def change(transaction: Any, path: str) -> None:
            transaction.set_data(path, data)
            # Watches are on the node above the members, not on each of them.
            transaction.set_data(self._root, b'')

        self._change_own(change)

    def leave(self) -> None:
        """Stop being a member."""
        path, self._path = self._path, None
        self.lease.end()
        if path is None:
            return
        try:
            self._call(self._until(), lambda zk: zk.delete_async(path))
        except (errors.NoNodeError, SessionLostError):
            return
        except contracts.MembershipError:
            # Without its session the member expires by itself.
            self._drop_session()
            raise

    def view(self) -> contracts.View:
        """Return the members alive now."""
        until = self._until()
        try:
            # Servers may lag: see all changes that were made before.
            self._call(until, lambda zk: zk.sync_async(self._root))
            names = self._call(
                until, lambda zk: zk.get_children_async(self._root)
            )
        except errors.NoNodeError:
            return contracts.View()
        ours = [name for name in names if '@' in name]
        found = self._opened().get_all(
            until, [f'{self._root}/{name}' for name in ours]
        )
        return contracts.View.of(
            node.member(name, *read)
            for name, read in zip(ours, found, strict=True)
            if read is not None  # gone since the list
        )

    def watch(self, timeout: float) -> bool:
        """Wait until the members may have changed."""
        return self._watch.wait(self._opened(), timeout)

    def close(self) -> None:
        """Free the session; that of a member ends with its lease."""
        self._watch.close()
        if not self.lease.runs:
            self._drop_session()

    def _create(self, path: str, data: bytes, until: float) -> None:
        """Create the member's node, or replace one of that name."""
        while True:
            try:
                self._call(
                    until,
                    lambda zk: zk.create_async(path, data, ephemeral=True),
                )
            except errors.NoNodeError:
                self._call(until, lambda zk: zk.ensure_path_async(self._root))
            except errors.NodeExistsError:
                if self._replace(path, data, until):
                    return
            else:
                return

    def _replace(self, path: str, data: bytes, until: float) -> bool:
        """Renew this process's node, which may be from an earlier session.

        :returns: whether it is done; else another client changed it first.
        """
        found = self._call(until, lambda zk: zk.exists_async(path))
        if found is None:
            return False

        def change(transaction: Any) -> None:
            if found.owner_session_id == self._opened().id:
                transaction.set_data(path, data, found.version)
            else:
                transaction.delete(path, found.version)
                transaction.create(path, data, ephemeral=True)
            transaction.set_data(self._root, b'')

        return self._committed(until, change) is None

    def _change_own(self, change: Callable[[Any, str], None]) -> None:
        path = self._path
        if path is None:
            raise _not_member()
        try:
            failure = self._committed(
                self._until(), lambda transaction: change(transaction, path)
            )
        except SessionLostError as exc:
            raise _not_member() from exc
        if failure is not None:
            raise _not_member() from failure

    def _committed(
        self, until: float, change: Callable[[Any], None]
    ) -> Exception | None:
        """Commit a transaction.

        :returns: ``None``, or why ZooKeeper refused it.
        """

        def request(zk: Any) -> Any:
            transaction = zk.transaction()
            change(transaction)
            return transaction.commit_async()

        results = self._call(until, request)
        failures = [r for r in results if isinstance(r, Exception)]
        return failures[0] if failures else None

    def _until(self) -> float:
        return time.monotonic() + self.call_timeout * _SHARE

    def _call(self, until: float, request: Callable[[Any], Any]) -> Any:
        return self._opened().call(until, request)

    def _opened(self) -> Session:
        with self._lock:
            if self._session is None:
                self._session = Session(
                    self._hosts,
                    self.member_ttl,
                    # A session outlasts several tries to connect.
                    min(self.call_timeout, max(1.0, self.member_ttl / 4)),
                    self._credentials,
                    self._watch.notify,
                )
            return self._session

    def _lapse(self) -> None:
        """End the session of a member that does not beat."""
        self._path = None
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.end()

    def _drop_session(self) -> None:
        """End the session, without waiting for pending requests."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            threading.Thread(
                target=session.end, name='kazoo-membership-end', daemon=True
            ).start()


def _not_member() -> contracts.NotMemberError:
    return contracts.NotMemberError(
        'backend kazoo_membership: this process is not a member (any more)'
    )
