"""Which coordination services work, and which of them a URL names."""

from __future__ import annotations

from ironic_ownership.backends.tooz import (
    driver,
    etcd,
    file,
    memcached,
    redis,
    store_url,
    zookeeper,
)
from ironic_ownership.contracts import exceptions

_STORES: tuple[type[driver.Store], ...] = (
    etcd.EtcdStore,
    zookeeper.ZooKeeperStore,
    redis.RedisStore,
    memcached.MemcachedStore,
    file.FileStore,
)


def find(url: str, ttl: float, patience: float) -> driver.Store:
    """Return the store that a URL names.

    :param ttl: seconds that a member stays without a beat.
    :param patience: seconds within which a call should end.
    :raises ConfigurationError: if it can't work, saying what can.
    """
    where = store_url.Address(url)
    for kind in _STORES:
        if where.scheme in kind.schemes:
            break
    else:
        raise _refused(
            f'the driver {where.masked(where.scheme)!r} has no groups with '
            'data of their members, or is unknown. Those that work: '
            f'{_known()}'
        )
    if not kind.is_installed():
        raise _refused(
            f'{kind.name} needs the library {kind.library}: '
            f'pip install ironic-ownership[{kind.extra}]'
        )
    found = kind(where, ttl, patience)
    faults = found.faults()
    if faults:
        raise _refused(*faults)
    return found


def _refused(*faults: str) -> exceptions.ConfigurationError:
    return exceptions.ConfigurationError(
        [f'[backend_tooz] backend_url: {fault}' for fault in faults]
    )


def _known() -> str:
    return ', '.join(
        f'{scheme}:// (ironic-ownership[{kind.extra}])'
        for kind in _STORES
        for scheme in kind.schemes
    )
