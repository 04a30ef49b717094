"""Imports of the project's programs, for the lab's program ``forks``.

That every module imports what it needs is seen where the programs are
installed, in the quickstart, and wherever a test gives one an environment or
a command of its own.
"""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
import re
import sys

# Packages of ours, and what they import when they come to it.
_PACKAGES = (
    *('api', 'backends', 'cli', 'clients', 'cmd', 'db', 'engine', 'observe'),
    *('policies', 'web', 'wiring'),
)
_ELSEWHERE = re.compile(r'\.migrations\.|\.web\.wsgi$')
"""Imported by other programs; the latter sets up logging."""
_IMPORTED_LATE = (
    'alembic.command',
    'cliff.formatters.json_format',
    'cliff.formatters.table',
    'cliff.formatters.value',
    'cliff.formatters.yaml_format',
    'keystoneauth1.adapter',
    'keystoneauth1.loading',
    'openstack.config',
    'psycopg2',
    'pymysql',
    'sqlalchemy.dialects.mysql.pymysql',
    'sqlalchemy.dialects.postgresql.psycopg2',
    'sqlalchemy.dialects.sqlite.pysqlite',
    'tests.functional.support.move_driver',
)


def main() -> None:
    """Import what the programs import, sooner or later."""
    # The programs of tests are modules of the checkout.
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
    for name in _PACKAGES:
        package = importlib.import_module(f'ironic_ownership.{name}')
        for module in pkgutil.walk_packages(
            package.__path__, f'{package.__name__}.'
        ):
            if not _ELSEWHERE.search(module.name):
                importlib.import_module(module.name)
    for name in _IMPORTED_LATE:
        importlib.import_module(name)


if __name__ == '__main__':
    main()
