"""Imports of the project's programs, for the lab's program ``forks``.

That every module imports what it needs is seen where the programs are
installed, in the quickstart, and wherever a test gives one an environment or
a command of its own.
"""

from __future__ import annotations

import importlib
import pathlib
import sys

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
)


def main() -> None:
    """Import what the programs import, sooner or later."""
    # The programs of tests are modules of the checkout.
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
    imports = importlib.import_module('benchmarks.nemesis.imports')
    imports.import_all((*imports.PACKAGES, 'web'), _IMPORTED_LATE)


if __name__ == '__main__':
    main()
