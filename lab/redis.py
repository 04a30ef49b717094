"""A private Redis without persistence: one server, or three with sentinels."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import time
import urllib.parse
from collections.abc import Sequence

import redis

from lab import certificates, cluster, process, server

MASTER = 'members'
"""The name by which the sentinels know the three servers."""

_DOWN_AFTER = 1500
"""Milliseconds without an answer, after which a server is down."""

_TOO_LONG = 20_000
"""Milliseconds without a primary: ten times the time-out of a fail-over."""

_NOWHERE = 1
"""A port at which no server listens."""


class Redis(server.Server):
    """One server.

    :param password: of its clients; empty for none.
    :param options: more options of the command line.
    :param tls: its certificate; no client connects without TLS then.
    """

    title = 'Redis'

    def __init__(
        self,
        directory: pathlib.Path,
        password: str = '',
        options: Sequence[str] = (),
        tls: certificates.Certificates | None = None,
    ) -> None:
        super().__init__(directory)
        self.options = options
        self._password = password
        self._tls = tls

    @property
    def url(self) -> str:
        """The URL as tooz reads it."""
        secret = f':{self._password}@' if self._password else ''
        return f'redis://{secret}127.0.0.1:{self.port}'

    def lose_data(self) -> None:
        """Stop the server and start it again, empty, on the same port."""
        self.restart()

    def _prepare(self) -> process.Process:
        secret = self._password
        return process.Process(
            [
                server.program('redis-server', 'redis-server'),
                *self._configuration(),
                *('--bind', '127.0.0.1'),
                *self._listening(),
                *('--dir', str(self._directory)),
                *(('--requirepass', secret) if secret else ()),
                *self.options,
            ],
            self._directory / 'redis.log',
        )

    def _listening(self) -> Sequence[str]:
        if self._tls is None:
            return ('--port', str(self.port))
        return (
            *('--port', '0', '--tls-port', str(self.port)),
            *('--tls-cert-file', str(self._tls.certificate)),
            *('--tls-key-file', str(self._tls.key)),
            *('--tls-ca-cert-file', str(self._tls.authority)),
            *('--tls-auth-clients', 'no', '--tls-replication', 'yes'),
        )

    def _configuration(self) -> Sequence[str]:
        return ('--save', '', '--appendonly', 'no')

    def _answers(self) -> bool:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(('127.0.0.1', self.port), 1) as plain,
            self._wrapped(plain) as probe,
        ):
            probe.sendall(b'PING\r\n')
            # An authentication error is an answer as well.
            return probe.recv(100)[:1] in (b'+', b'-')
        return False

    def _wrapped(self, plain: socket.socket) -> socket.socket:
        return plain if self._tls is None else self._tls.wrap(plain)


class Sentinel(Redis):
    """One of the processes that choose the primary.

    :param settings: lines of its configuration file, which it rewrites.
    """

    title = 'Redis Sentinel'
    settings: Sequence[str] = ()

    def _configuration(self) -> Sequence[str]:
        file = self._directory / 'sentinel.conf'
        if not file.exists():
            file.write_text('\n'.join((*self.settings, '')))
        return (str(file), '--sentinel')


class Cluster(cluster.Cluster[Redis]):
    """A primary and two replicas, each with a sentinel on its machine.

    :param directory: an existing directory for all that they write.
    :param password: of the servers' clients, and of the servers.
    :param sentinel_password: of the sentinels' clients, and of the sentinels.
    :param lag: seconds after which a primary without a replica refuses
        writes; zero for one that never does.
    :param tls: the certificate of all of them.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        password: str = '',
        sentinel_password: str = '',
        *,
        lag: int = 2,
        tls: certificates.Certificates | None = None,
    ) -> None:
        super().__init__()
        self._passwords = password, sentinel_password
        self._tls = tls
        for home in cluster.homes(directory, 'redis'):
            self._add(Redis(home, password, tls=tls))
        self.sentinels = [
            Sentinel(home, sentinel_password, tls=tls)
            for home in cluster.homes(directory, 'sentinel')
        ]
        self.sentinel_ports = [
            self.network.connect(one.name, one.port) for one in self.sentinels
        ]
        for number, port in enumerate(self.ports):
            self.servers[number].options = (
                *('--replica-announce-ip', '127.0.0.1'),
                *('--replica-announce-port', str(port)),
                *('--repl-ping-replica-period', '1'),
                *('--repl-diskless-sync-delay', '0'),
                *('--min-replicas-to-write', '1' if lag else '0'),
                *('--min-replicas-max-lag', str(lag)),
                *(('--masterauth', password) if password else ()),
                *(
                    ('--replicaof', '127.0.0.1', str(self.ports[0]))
                    if number
                    else ()
                ),
            )
        for number, one in enumerate(self.sentinels):
            self.network.name(one.name, lambda one=one: one.pid)  # type: ignore[misc]
            one.settings = [
                'sentinel announce-ip 127.0.0.1',
                f'sentinel announce-port {self.sentinel_ports[number]}',
                f'sentinel monitor {MASTER} 127.0.0.1 {self.ports[0]} 2',
                f'sentinel down-after-milliseconds {MASTER} {_DOWN_AFTER}',
                f'sentinel failover-timeout {MASTER} 2000',
                *(
                    [f'sentinel auth-pass {MASTER} {password}']
                    * bool(password)
                ),
                *(
                    [f'sentinel sentinel-pass {sentinel_password}']
                    * bool(sentinel_password)
                ),
            ]

    @property
    def url(self) -> str:
        """The URL with all the sentinels, as the product reads it."""
        password, sentinel_password = self._passwords
        secret = f':{password}@' if password else ''
        first, *others = [f'127.0.0.1:{port}' for port in self.sentinel_ports]
        query = [('sentinel', MASTER)]
        query += [('sentinel_fallback', other) for other in others]
        if sentinel_password:
            query.append(('sentinel_password', sentinel_password))
        return f'redis://{secret}{first}?{urllib.parse.urlencode(query)}'

    def begin(self) -> None:
        """Start all the servers, and do not wait until they answer."""
        super().begin()
        for one in self.sentinels:
            one.begin()

    def start(self) -> Cluster:
        """Start all, and wait until the sentinels know each other."""
        super().start()
        for one in self.sentinels:
            one.wait()
        running = self.sentinels[0]._running()
        running.wait_until(self._is_ready, 'sentinels and replicas')
        return self

    def stop(self) -> None:
        """Stop all the servers and the sentinels."""
        super().stop()
        for one in self.sentinels:
            one.stop()

    def leave_to_others(self, member: Redis) -> None:
        """Let the sentinels replace a primary before it stops.

        One that restarts faster than they notice would be empty, and its
        replicas would be too.
        """
        if self.leader() is not member:
            return
        gives_up = time.monotonic() + 180
        while self.leader() is member:
            if time.monotonic() > gives_up:
                raise process.LabError('the sentinels keep the primary')
            with (
                contextlib.suppress(redis.RedisError),
                self._client(self.sentinels[0], self._passwords[1]) as client,
            ):
                client.sentinel_failover(MASTER)
            time.sleep(0.5)

    def make_circle(self) -> None:
        """Make all servers replicas, none of them good enough for a primary.

        Sentinels take none that has lost its primary for ten times the time
        after which they call one down. So the links have to be down first: a
        replica that has one serves others, and their links stay.
        """
        primary, followers = self.leader(), self.followers()
        for one in self.sentinels:
            one.freeze()
        try:
            for follower in followers:
                self._replicate(follower, _NOWHERE)
            self._replicate(primary, self._port(followers[0]))
            for follower in followers:
                self._replicate(follower, self._port(primary))
            time.sleep(10 * _DOWN_AFTER / 1000 + 5)
            if any(map(self._has_link, self.servers)):
                raise process.LabError('a replica found its primary again')
        finally:
            for one in self.sentinels:
                one.thaw()

    def repair(self) -> bool:
        """Do what an operator does if no server is a primary any more.

        Sentinels with short time-outs may make each server a replica of
        another one, in a circle, and none of them is good enough for them
        later. The one that they name becomes the primary again.

        :returns: whether that was so for twenty seconds.
        """
        named = {
            int(str(state['port']))
            for state in self._states()
            if state['role-reported'] == 'slave'
            and int(str(state['role-reported-time'])) > _TOO_LONG
        }
        if len(named) != 1 or any(map(self._is_primary, self.servers)):
            return False
        member = self.servers[self.ports.index(named.pop())]
        with (
            contextlib.suppress(redis.RedisError),
            self._client(member, self._passwords[0]) as client,
        ):
            client.replicaof('NO', 'ONE')
            return True
        return False

    def side(self, member: Redis) -> set[str]:
        """Return the names of what runs on the machine of a server."""
        number = self.servers.index(member)
        return {member.name, self.sentinels[number].name}

    def _is_ready(self) -> bool:
        states = self._states()
        return len(states) == len(self.sentinels) and all(
            state['num-other-sentinels'] == len(self.sentinels) - 1
            and state['num-slaves'] == len(self.servers) - 1
            for state in states
        )

    def _states(self) -> list[dict[str, object]]:
        """Return what each sentinel that answers knows of the primary."""
        found = []
        for one in self.sentinels:
            with (
                contextlib.suppress(redis.RedisError),
                self._client(one, self._passwords[1]) as client,
            ):
                found.append(client.sentinel_masters()[MASTER])
        return found

    def _leads(self, member: Redis) -> bool:
        port = self._port(member)
        chosen = [state['port'] for state in self._states()]
        if 2 * chosen.count(port) <= len(self.sentinels):
            return False
        return self._is_primary(member)

    def _is_primary(self, member: Redis) -> bool:
        """Tell whether a server takes itself for the primary."""
        with (
            contextlib.suppress(redis.RedisError),
            self._client(member, self._passwords[0]) as client,
        ):
            return bool(client.info('replication')['role'] == 'master')
        return False

    def _port(self, member: Redis) -> int:
        """Return the port at which the others reach a server."""
        return self.ports[self.servers.index(member)]

    def _replicate(self, member: Redis, port: int) -> None:
        with self._client(member, self._passwords[0]) as client:
            client.replicaof('127.0.0.1', str(port))

    def _has_link(self, member: Redis) -> bool:
        """Tell whether a replica is connected with its primary."""
        with self._client(member, self._passwords[0]) as client:
            state = client.info('replication')
        return bool(state.get('master_link_status') == 'up')

    def _client(self, to: server.Server, password: str) -> redis.Redis:
        return redis.Redis(
            port=to.port,
            password=password or None,
            socket_timeout=1,
            ssl=self._tls is not None,
            ssl_ca_certs=str(self._tls.authority) if self._tls else None,
            decode_responses=True,
        )
