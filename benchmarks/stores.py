"""Membership stores of the benchmarks: servers and configuration."""

from __future__ import annotations

import abc
import dataclasses
import pathlib
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self

from lab import etcd, redis, zookeeper


@dataclasses.dataclass(frozen=True)
class Timing:
    """Options of the group ``membership``, in seconds."""

    heartbeat_interval: float = 5
    member_ttl: float = 20
    fence_margin: float = 1

    @property
    def options(self) -> Sequence[str]:
        """The lines of a configuration, with the group."""
        found = dataclasses.asdict(self).items()
        return [
            '[membership]',
            *(f'{name} = {value}' for name, value in found),
        ]


class Store(abc.ABC):
    """One store, started and ended as a context.

    :param directory: an existing directory for its files.
    """

    smallest = Timing(heartbeat_interval=1, member_ttl=3, fence_margin=0.5)
    """The smallest time to live that the backend allows."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory

    def timing(self, name: str) -> Timing:
        """Return the timing called ``default`` or ``smallest``."""
        return Timing() if name == 'default' else self.smallest

    @abc.abstractmethod
    def options(self, database: str) -> Sequence[str]:
        """Return the lines of a configuration that starts in [ownership].

        :param database: URL of the records.
        """

    def start(self) -> None:
        """Start the server."""
        return None

    def stop(self) -> None:
        """Stop the server."""
        return None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self.stop()


class Database(Store):
    """Heartbeats in the database of the records."""

    smallest = Timing(heartbeat_interval=0.5, member_ttl=1.5, fence_margin=0.3)

    def options(self, database: str) -> Sequence[str]:
        """Name the backend; it follows the records."""
        return ['backend = db']


class Coordination(Store):
    """A coordination service, through tooz.

    Subclasses build the server.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        super().__init__(directory)
        self.server = self.build()

    def build(self) -> Server:
        """Return the server, not started."""
        raise NotImplementedError

    def options(self, database: str) -> Sequence[str]:
        """Name the backend and the server."""
        return [
            'backend = tooz',
            '[backend_tooz]',
            f'backend_url = {self.server.url}',
        ]

    def start(self) -> None:
        """Start the server."""
        self.server.start()

    def stop(self) -> None:
        """Stop the server."""
        self.server.stop()


class Server(Protocol):
    """A server of the lab."""

    @property
    def url(self) -> str:
        """The URL as tooz reads it."""

    def start(self) -> object:
        """Start it, and wait until it answers."""

    def stop(self) -> None:
        """Stop it."""


class Etcd(Coordination):
    """Leases of etcd, of at least two seconds."""

    smallest = Timing(heartbeat_interval=0.6, member_ttl=2, fence_margin=0.4)

    def build(self) -> Server:
        """Return the server, not started."""
        return etcd.Etcd(self.directory)


class ZooKeeper(Coordination):
    """Sessions of ZooKeeper, of at least four seconds by default."""

    smallest = Timing(heartbeat_interval=1, member_ttl=4, fence_margin=0.5)

    def build(self) -> Server:
        """Return the server, not started."""
        return zookeeper.ZooKeeper(self.directory)


class Redis(Coordination):
    """Keys of Redis that expire."""

    smallest = Timing(heartbeat_interval=0.5, member_ttl=1.5, fence_margin=0.3)

    def build(self) -> Server:
        """Return the server, not started."""
        return redis.Redis(self.directory)


STORES: Mapping[str, Callable[[pathlib.Path], Store]] = {
    'db': Database,
    'etcd': Etcd,
    'zookeeper': ZooKeeper,
    'redis': Redis,
}
