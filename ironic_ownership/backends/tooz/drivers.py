"""Selection of the driver for a URL."""

from __future__ import annotations

import importlib.util

from ironic_ownership.backends.tooz import driver, etcd, redis, zookeeper
from ironic_ownership.contracts import exceptions, extras

_DRIVERS: tuple[type[driver.Driver], ...] = (
    etcd.EtcdDriver,
    zookeeper.ZooKeeperDriver,
    redis.RedisDriver,
)

_REMOVED = {
    'memcached': 'memcached is not supported any more: it can lose all '
    'members at once. Move to another store, or to backend = db',
    'file': 'files are not supported any more. For the processes of one '
    'machine, set [ownership] backend = db',
}
"""Schemes of earlier releases, with what replaces each."""


def find(url: str, ttl: float, call_timeout: float) -> driver.Driver:
    """Return the driver for a URL.

    :raises ConfigurationError: if it can't work, naming those that can.
    """
    where = driver.StoreURL(url)
    for kind in _DRIVERS:
        if where.parts.scheme in kind.schemes:
            break
    else:
        scheme = where.masked(where.parts.scheme)
        raise _refused(
            _REMOVED.get(
                scheme,
                f'the driver {scheme!r} has no groups with data of their '
                'members, or is unknown',
            )
            + f'. Supported: {_supported()}'
        )
    if importlib.util.find_spec(kind.library) is None:
        raise _refused(
            f'{kind.name} needs the library {kind.library}: '
            f'{extras.hint(kind.name)}'
        )
    found = kind(where, ttl, call_timeout)
    faults = found.faults()
    if faults:
        raise _refused(*faults)
    return found


def _refused(*faults: str) -> exceptions.ConfigurationError:
    return exceptions.ConfigurationError(
        [f'[backend_tooz] backend_url: {fault}' for fault in faults]
    )


def _supported() -> str:
    return ', '.join(
        f'{scheme}:// (extra {kind.name})'
        for kind in _DRIVERS
        for scheme in kind.schemes
    )
