"""Imports of ``openstack``, for the lab's program ``forks``.

Executed by the Python of the client's environment.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil

_PACKAGES = ('api', 'cli', 'clients', 'db', 'engine', 'osc', 'wiring')
_IMPORTED_LATE = (
    'cliff.formatters.json_format',
    'cliff.formatters.table',
    'cliff.formatters.value',
    'ironicclient.osc.plugin',
    'keystoneauth1.loading',
    'openstack.config',
    'openstack.connection',
    'openstackclient.shell',
    'sqlalchemy.dialects.sqlite.pysqlite',
)


def main() -> None:
    """Import what the programs import, sooner or later."""
    for name in _PACKAGES:
        package = importlib.import_module(f'ironic_ownership.{name}')
        for module in pkgutil.walk_packages(
            package.__path__, f'{package.__name__}.'
        ):
            if '.migrations.' in module.name:
                continue
            # Drivers of databases are not installed there.
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(module.name)
    for name in _IMPORTED_LATE:
        importlib.import_module(name)


if __name__ == '__main__':
    main()
