"""ZooKeeper: a session for each member, kept alive by kazoo's own threads.

Each read and each beat begins with a sync: a member that has expired is not
taken for one that lives, nor a new one for one that is missing.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from ironic_ownership.backends.tooz import driver, members

_RECONNECT_DELAY = 2.0
"""Most seconds between two attempts to connect."""


class _SyncedReader(members.ToozReader):
    """Reads nothing that is older than the call."""

    def _ids(self) -> set[bytes]:
        _sync(self._coordinator, self._driver.request_timeout)
        # Without the lock of tooz's election, which it lists as a member.
        return super()._ids() - {b'leader'}


class ZooKeeperDriver(driver.Driver):
    """A ZooKeeper, which may be an ensemble."""

    name = 'zookeeper'
    schemes = ('zookeeper', 'kazoo')
    library = 'kazoo'
    capabilities: ClassVar[driver.Capabilities] = driver.CONSENSUS
    takes_several_servers = True
    # kazoo's own threads would keep the session of a process that hangs.
    lives_without_beats = True
    reader_class = _SyncedReader
    reserved = driver.Driver.reserved | {'connection_retry', 'command_retry'}
    kinds: ClassVar[Mapping[str, str]] = {
        'hosts': driver.SERVERS,
        'randomize_hosts': driver.BOOLEAN,
        'use_ssl': driver.BOOLEAN,
        'verify_certs': driver.BOOLEAN,
    }
    tls = ('use_ssl',)
    of_tls = frozenset({'ca', 'certfile', 'keyfile'})
    of_tls |= {'keyfile_password', 'verify_certs'}
    known = of_tls | kinds.keys() | {'namespace'}

    def options(self) -> Mapping[str, Any]:
        return {
            # The session's: milliseconds in the protocol, so not rounded.
            'timeout': self.ttl,
            'connection_retry': {
                'max_tries': -1,
                'max_delay': _RECONNECT_DELAY,
            },
        }

    def prepare(self, coordinator: Any) -> None:
        """Bound the connection attempts, and note the granted session.

        By default, kazoo waits for a connection and for the first answer as
        long as a session lasts: a server that is starting, or a network that
        drops packets, would cost the membership.
        """
        # kazoo logs each attempt to connect, unless an operator has set its
        # level; below INFO it logs the user's digest.
        log = logging.getLogger('kazoo')
        log.setLevel(max(log.level or logging.ERROR, logging.INFO))
        self._add_decoded(coordinator._coord)
        coordinator.timeout = self.request_timeout
        # Time for another server, if the first does not answer.
        several = len(self.store_url.servers) > 1
        one_server = self.request_timeout / (2 if several else 1)
        connection = coordinator._coord._connection
        handler = connection.handler
        connect, invoke = connection._connect, connection._invoke
        create = handler.create_connection

        def connect_and_note(*args: Any) -> Any:
            read_timeout, connect_timeout = connect(*args)
            # kazoo does not publish the granted time, only two thirds of it.
            coordinator.granted = read_timeout * 3 / 2 / 1000
            return read_timeout, connect_timeout

        def create_in_time(**kwargs: Any) -> Any:
            kwargs['timeout'] = one_server
            # kazoo trusts every public authority besides the configured one,
            # and checks no name.
            return (_secure if kwargs['use_ssl'] else create)(**kwargs)

        def invoke_in_time(timeout: float, *args: Any, **kwargs: Any) -> Any:
            return invoke(min(timeout, one_server), *args, **kwargs)

        connection._connect = connect_and_note
        connection._invoke = invoke_in_time
        handler.create_connection = create_in_time

    def _add_decoded(self, client: Any) -> None:
        """Add the decoded user to the one as written, which tooz takes.

        Other hosts, and nodes of earlier releases, may know only that one.
        """
        from kazoo import security

        user, password = self.store_url.credentials or ('', '')
        if client.default_acl and '%' in self.store_url.parts.netloc:
            client.auth_data.add(('digest', f'{user}:{password}'))
            acl = security.make_digest_acl(user, password, all=True)
            client.default_acl = (*client.default_acl, acl)

    def check(self, coordinator: Any) -> None:
        # Noted before the first answer, and the start needs an answer.
        granted = coordinator.granted
        if abs(granted - self.ttl) > 0.01:
            raise self.unsupported(
                f'keeps a member for {granted:g} s when asked to keep it for '
                f'{self.ttl:g} s',
                f'Set [membership] member_ttl to {granted:g}, or change '
                'minSessionTimeout and maxSessionTimeout of the server',
            )

    def beat(self, coordinator: Any) -> None:
        """Reach the leader; the read that follows keeps the session too."""
        _sync(coordinator, self.request_timeout)

    def failed(self, coordinator: Any) -> None:
        """Go to the next server, with the same session."""
        # kazoo would wait for two thirds of the session's time.
        connection = coordinator._coord._connection._socket
        if len(self.store_url.servers) > 1 and connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def stop(self, coordinator: Any) -> None:
        """End the session, and the member with it."""
        try:
            # tooz would leave the group again, and wait for an answer for
            # ever.
            coordinator._coord.stop()
        finally:
            coordinator._coord.close()

    def watcher(self, coordinator: Any, group: bytes) -> driver.Watcher:
        return _ChildWatch(coordinator, group, self.request_timeout)


def _secure(
    *, address: tuple[str, int], hostname: str, timeout: float, **tls: Any
) -> ssl.SSLSocket:
    """Connect to the server of that name, with a certificate of ``ca``.

    :param tls: kazoo's; without ``ca`` the authorities of the system count.
    """
    context = ssl.create_default_context(cafile=tls['ca'])
    if not tls['verify_certs']:  # by the operator
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls['certfile']:
        context.load_cert_chain(
            tls['certfile'], tls['keyfile'], tls['keyfile_password']
        )
    plain = socket.create_connection(address, timeout)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname=hostname)
    except BaseException:
        plain.close()
        raise


def _sync(coordinator: Any, timeout: float) -> None:
    # A server answers from its own copy of the data, which may be older than
    # what another client has seen. A sync goes to the leader.
    # It is one for all paths.
    coordinator._coord.sync_async('/').get(timeout=timeout)


class _ChildWatch:
    """ZooKeeper's watch of the group's children; fires once, then is reset."""

    def __init__(self, coordinator: Any, group: bytes, timeout: float) -> None:
        self._coordinator = coordinator
        self._group = group
        self._timeout = timeout
        self._changed = threading.Event()
        self._is_set = False

    def wait(self, timeout: float) -> bool:
        if not self._is_set:
            self._set(min(timeout, self._timeout))
            return True
        if not self._changed.wait(timeout):
            return False
        # The next call sets it, and reports changes made until then.
        self._is_set = False
        return True

    def _set(self, timeout: float) -> None:
        from kazoo import exceptions

        self._changed.clear()
        try:
            self._watch(timeout)
        except exceptions.NoNodeError:
            driver.create_group(self._coordinator, self._group, timeout)
            self._watch(timeout)
        self._is_set = True

    def _watch(self, timeout: float) -> None:
        client = self._coordinator._coord
        path = self._coordinator._path_group(self._group)
        # Not tooz's watchers, which only poll.
        found = client.get_children_async(path, watch=self._notify)
        found.get(timeout=timeout)

    def _notify(self, _event: object) -> None:
        self._changed.set()
