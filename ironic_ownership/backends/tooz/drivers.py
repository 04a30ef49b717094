"""Selection of the driver for a URL, and the driver of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ironic_ownership.backends.tooz import (
    driver,
    etcd,
    memcached,
    redis,
    store_url,
    zookeeper,
)
from ironic_ownership.contracts import exceptions


class FileDriver(driver.Driver):
    """Files: members on one machine, for trials and small test systems.

    Members expire by the wall clock of the machine, and a late beat would
    renew a member that has expired: the backend checks before it beats.
    """

    name = 'file'
    schemes = ('file',)
    library = 'fasteners'  # comes with tooz
    extra = 'tooz'
    capabilities: ClassVar[driver.Capabilities] = frozenset()

    def options(self) -> Mapping[str, Any]:
        # For files, this option is the time to live.
        return {**super().options(), 'timeout': self.whole_ttl}


_DRIVERS: tuple[type[driver.Driver], ...] = (
    etcd.EtcdDriver,
    zookeeper.ZooKeeperDriver,
    redis.RedisDriver,
    memcached.MemcachedDriver,
    FileDriver,
)


def find(url: str, ttl: float, call_timeout: float) -> driver.Driver:
    """Return the driver for a URL.

    :raises ConfigurationError: if it can't work, naming those that can.
    """
    where = store_url.StoreURL(url)
    for kind in _DRIVERS:
        if where.scheme in kind.schemes:
            break
    else:
        raise _refused(
            f'the driver {where.masked(where.scheme)!r} has no groups with '
            'data of their members, or is unknown. Supported: '
            f'{_supported()}'
        )
    if not kind.is_installed():
        raise _refused(
            f'{kind.name} needs the library {kind.library}: '
            f'pip install ironic-ownership[{kind.extra}]'
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
        f'{scheme}:// (ironic-ownership[{kind.extra}])'
        for kind in _DRIVERS
        for scheme in kind.schemes
    )
