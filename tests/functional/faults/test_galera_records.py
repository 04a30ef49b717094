"""The contracts of records and membership on a Galera cluster.

Each transaction goes through another node of three, so what one of them has
committed has to count at the others immediately. The suites are those of
SQLite (``tests/contract``) and of single servers.
"""

from __future__ import annotations

from tests.contract import database_suites
from tests.functional.support import galera_case

globals().update(
    database_suites.classes(
        __name__,
        galera_case.OnGalera,
        # Those of a proxy in front of it are in test_galera_frozen.
        instead={'Backend': galera_case.BackendOnGalera, 'Outages': None},
    )
)
