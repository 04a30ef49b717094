"""Stores of the members: servers, and the options of a host."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from benchmarks.nemesis import records
from benchmarks.nemesis.hosts import HostProcess
from lab import cluster, etcd, redis, server, zookeeper

Sections = Mapping[str, Mapping[str, object]]


class Store(Protocol):
    """One store, and how hosts reach it."""

    @property
    def servers(self) -> Sequence[server.Server]:
        """The servers that may fail, besides those of the records."""

    @property
    def ports(self) -> Sequence[int]:
        """The ports of its servers; none if there is no network."""

    def start(self) -> None:
        """Start the servers."""

    def stop(self) -> None:
        """Stop the servers."""

    def sections(self, login: str, ports: Sequence[int]) -> Sections:
        """Return the options of a host.

        :param ports: where it reaches the servers, in their order.
        """


class InRecords:
    """Heartbeats in the database of the records, on a path of their own."""

    servers: Sequence[server.Server] = ()

    def __init__(self, database: records.Records) -> None:
        self._database = database

    @property
    def ports(self) -> Sequence[int]:
        """The ports of the records' servers."""
        return self._database.ports

    def start(self) -> None:
        """Do nothing: the records run."""

    def stop(self) -> None:
        """Do nothing: the records are stopped by themselves."""

    def sections(self, login: str, ports: Sequence[int]) -> Sections:
        """Name the backend, and its path to the records."""
        found: dict[str, dict[str, object]] = {'ownership': {'backend': 'db'}}
        if ports:
            url = self._database.url(login, ports[0])
            found['backend_db'] = {'connection': url}
        return found


class Coordination:
    """A coordination service, through tooz."""

    def __init__(
        self,
        directory: pathlib.Path,
        build: Callable[[pathlib.Path], CoordinationServer],
    ) -> None:
        directory.mkdir()
        directory.chmod(0o755)
        self._server = build(directory)
        self.servers: Sequence[server.Server] = [self._server]

    @property
    def ports(self) -> Sequence[int]:
        """The port of the server."""
        return [self._server.port]

    def start(self) -> None:
        """Start the server."""
        self._server.start()

    def stop(self) -> None:
        """Stop the server."""
        self._server.stop()

    def sections(self, login: str, ports: Sequence[int]) -> Sections:
        """Name the backend and the path to the server."""
        url = self._server.url.replace(f':{self._server.port}', f':{ports[0]}')
        return {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {'backend_url': url},
        }


class Cluster:
    """Three servers, of which each service knows all.

    :param path: whether network paths of a service can fail one by one; a
        client of sentinels connects to servers that it learns from them.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        build: Callable[[pathlib.Path], cluster.Cluster[Any]],
        *,
        path: bool = True,
    ) -> None:
        directory.mkdir()
        directory.chmod(0o755)
        self._cluster = build(directory)
        self._path = path

    @property
    def servers(self) -> Sequence[server.Server]:
        """The servers."""
        return self._cluster.servers

    @property
    def ports(self) -> Sequence[int]:
        """The ports of the servers, for clients."""
        return self._cluster.ports if self._path else ()

    def start(self) -> None:
        """Start the servers."""
        self._cluster.start()

    def stop(self) -> None:
        """Stop the servers."""
        self._cluster.close()

    def isolate(
        self, number: int, host: str, clients: Iterable[HostProcess]
    ) -> None:
        """Cut one server off from the others.

        :param host: a service that is cut off with it.
        :param clients: all processes; those with paths of their own reach all
            servers.
        """
        sides: dict[bool, list[str]] = {True: [], False: []}
        for one in () if self._path else clients:
            self._cluster.network.name(one.name, one.pid)
            sides[one.host == host].append(one.name)
        members = self._cluster.servers
        self._cluster.isolate(
            members[number % len(members)], sides[True], sides[False]
        )

    def heal(self) -> None:
        """End :meth:`isolate`."""
        self._cluster.network.heal()

    def repair(self) -> bool:
        """Do what an operator has to do; tell whether that was necessary."""
        return self._cluster.repair()

    def sections(self, login: str, ports: Sequence[int]) -> Sections:
        """Name the backend and the paths to all servers."""
        url = self._cluster.url
        for before, after in zip(self.ports, ports, strict=False):
            url = url.replace(f':{before}', f':{after}')
        return {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {'backend_url': url},
        }


CoordinationServer = etcd.Etcd | zookeeper.ZooKeeper | redis.Redis

_SERVERS: Mapping[str, Callable[[pathlib.Path], CoordinationServer]] = {
    'etcd': etcd.Etcd,
    'zookeeper': zookeeper.ZooKeeper,
    'redis': redis.Redis,
}

_CLUSTERS: Mapping[str, Callable[[pathlib.Path], Cluster]] = {
    'etcd-cluster': lambda path: Cluster(path, etcd.Cluster),
    'zookeeper-cluster': lambda path: Cluster(path, zookeeper.Cluster),
    'redis-cluster': lambda path: Cluster(path, redis.Cluster, path=False),
    # Its primary accepts writes without replicas: both sides of a partition
    # declare each other dead.
    'redis-unlimited': lambda path: Cluster(
        path, functools.partial(redis.Cluster, lag=0), path=False
    ),
}

NAMES = ('db', *_SERVERS, *_CLUSTERS)
"""Each store by its name on the command line."""


def build(
    name: str, directory: pathlib.Path, database: records.Records
) -> Store:
    """Return the store, not started."""
    if name == 'db':
        return InRecords(database)
    if name in _CLUSTERS:
        return _CLUSTERS[name](directory)
    return Coordination(directory, _SERVERS[name])
