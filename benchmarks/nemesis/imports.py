"""Imports of host processes and commands, for the lab's program ``forks``."""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
import re
import sys
import threading
import time
from collections.abc import Iterable
from typing import SupportsIndex

_CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = (
    *('api', 'backends', 'cli', 'clients', 'cmd', 'db', 'engine'),
    *('policies', 'wiring'),
)
_ELSEWHERE = re.compile(r'\.migrations\.|\.web\.wsgi$')
"""Imported by other programs; the latter sets up logging."""
_IMPORTED_LATE = (
    'benchmarks.nemesis.driver',
    'cliff.formatters.table',
    'etcd3gw',
    'kazoo.client',
    'keystoneauth1.adapter',
    'keystoneauth1.loading',
    'openstack.config',
    'psycopg2',
    'pymysql',
    'redis.sentinel',
    'sqlalchemy.dialects.mysql.pymysql',
    'sqlalchemy.dialects.postgresql.psycopg2',
    'sqlalchemy.dialects.sqlite.pysqlite',
    'tooz.drivers.etcd3gw',
    'tooz.drivers.redis',
    'tooz.drivers.zookeeper',
)


def _sleep(seconds: float | SupportsIndex) -> None:
    """Sleep in a way that libfaketime does not affect.

    It takes a sleep until some moment of the monotonic clock, which Python's
    is, for one of the wall clock.
    """
    threading.Event().wait(float(seconds))


def import_all(packages: Iterable[str], late: Iterable[str]) -> None:
    """Import every module of our packages, and what they import later."""
    for name in packages:
        package = importlib.import_module(f'ironic_ownership.{name}')
        for module in pkgutil.walk_packages(
            package.__path__, f'{package.__name__}.'
        ):
            if not _ELSEWHERE.search(module.name):
                importlib.import_module(module.name)
    for name in late:
        importlib.import_module(name)


def main() -> None:
    """Import all that a host or a command needs."""
    time.sleep = _sleep  # before any module takes the other one
    sys.path.insert(0, str(_CHECKOUT))
    import_all(PACKAGES, _IMPORTED_LATE)


if __name__ == '__main__':
    main()
