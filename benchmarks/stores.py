"""Membership stores of the benchmarks: servers and configuration."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

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


SMALLEST: Mapping[str, Timing] = {
    'db': Timing(0.5, 1.5, 0.3),
    'etcd': Timing(0.6, 2, 0.4),  # leases of at least two seconds
    'zookeeper': Timing(1, 4, 0.5),  # the least that its server negotiates
    'redis': Timing(0.5, 1.5, 0.3),
}
"""The smallest time to live that each store allows, by its name."""

_SERVERS: Mapping[str, Callable[[pathlib.Path], Any]] = {
    'etcd': etcd.Etcd,
    'zookeeper': zookeeper.ZooKeeper,
    'redis': redis.Redis,
}


@contextlib.contextmanager
def serving(name: str, directory: pathlib.Path) -> Iterator[Any]:
    """Yield the server of a store; ``None`` if it is that of the records.

    :param directory: an existing one for its files.
    """
    if name not in _SERVERS:
        yield None
        return
    server = _SERVERS[name](directory)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def options(server: Any) -> Sequence[str]:
    """Return the lines of a configuration that starts in [ownership]."""
    if server is None:
        return ['backend = db']
    url = f'backend_url = {server.url}'
    return ['backend = tooz', '[backend_tooz]', url]
