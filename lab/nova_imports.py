"""Imports of a nova-compute, for the program ``forks``.

The programs as they are installed run in ``test_nova_wheel`` and in the
benchmark.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import pathlib
import pkgutil
import sys

# First of all Nova's own program: it prepares Python for its threads.
_MODULES = (
    'nova.cmd.compute',
    'nova.compute.resource_tracker',
    'nova.virt.ironic.driver',
    'nova.scheduler.client.report',
    'openstack.baremetal.v1._proxy',
    'oslo_messaging._drivers.impl_rabbit',
    'pymysql',
    'sqlalchemy.dialects.mysql.pymysql',
)
_MANAGER = 'nova.compute.manager'
"""Reads the configuration when it is imported: intervals of its tasks."""

# What the driver embeds. The driver itself is no part of stock Nova.
_PACKAGES = ('clients', 'conf', 'contracts', 'db', 'engine', 'wiring')


def main() -> None:
    """Import all that a nova-compute needs."""
    for name in (*_MODULES, *_imports_of(_MANAGER)):
        with contextlib.suppress(ModuleNotFoundError):  # no module but a name
            importlib.import_module(name)
    with contextlib.suppress(ImportError):  # of stock Nova alone
        for name in _PACKAGES:
            package = importlib.import_module(f'ironic_ownership.{name}')
            for module in pkgutil.walk_packages(
                package.__path__, f'{package.__name__}.'
            ):
                if '.migrations.' not in module.name:
                    importlib.import_module(module.name)
    assert _MANAGER not in sys.modules


def _imports_of(name: str) -> list[str]:
    """Return what a module imports, without importing it."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(pathlib.Path(spec.origin).read_text())
    found = []
    for one in tree.body:
        if isinstance(one, ast.Import):
            found += [alias.name for alias in one.names]
        elif isinstance(one, ast.ImportFrom) and one.module:
            found.append(one.module)
            found += [f'{one.module}.{alias.name}' for alias in one.names]
    return found


if __name__ == '__main__':
    main()
