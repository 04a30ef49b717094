"""Records on a server that accepts everything and answers nothing."""

from __future__ import annotations

import unittest

from tests.functional.support import databases, frozen_case


class TestFrozenPostgreSQL(frozen_case.FrozenServer, unittest.TestCase):
    kind = databases.POSTGRESQL


class TestFrozenMariaDB(frozen_case.FrozenServer, unittest.TestCase):
    kind = databases.MARIADB
