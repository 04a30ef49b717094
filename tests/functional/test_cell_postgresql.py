"""The same next to a cell on PostgreSQL, and its permissions."""

from __future__ import annotations

import functools

from tests.contract.suites import records as suite
from tests.functional import test_cell, test_cell_adoption
from tests.functional.support import cells, databases

TWINS = 'HOST1', 'Host1', 'host1'


class _OnPostgreSQL(test_cell.WithCell):
    """The tables of the cell are in a schema of the same database."""

    def make_cell(self) -> str:
        url = databases.POSTGRESQL.empty()
        self.cell = _cell(url)
        self.cell.clear()
        return url


@functools.cache
def _cell(url: str) -> cells.PostgreSQLCell:
    return cells.PostgreSQLCell(url)


class CellTest(_OnPostgreSQL, test_cell.CellTest):
    pass


class TwinsTest(_OnPostgreSQL, suite.RecordsContract):
    def setUp(self) -> None:
        super().setUp()
        self.cell.add_services('HOST1', 'host1')

    def test_twin_that_reported_last_counts(self) -> None:
        """Only here may names of services differ in nothing but case."""
        epoch = self.register('host1')
        for number, latest in enumerate(TWINS, 1):
            self.cell.query(
                f'UPDATE {self.cell.schema}.services SET last_seen_up = CASE '
                f"host WHEN '{latest}' THEN UTC_TIMESTAMP() END"
            )
            self.assert_applied('host1', epoch, suite.claim(number))
            self.assertEqual(latest, self.cell.owners()[suite.uuid(number)])
            names = [one.host for one in self.records.services()]
            self.assertEqual(['host1'], names)
            self.assertTrue(self.service('host1').up_in_nova)

    def test_settings_are_those_of_the_twin_that_reported_last(self) -> None:
        for latest in TWINS:
            self.cell.query(
                f'UPDATE {self.cell.schema}.services SET forced_down = host <>'
                f" '{latest}', last_seen_up = CASE host WHEN '{latest}' THEN "
                'UTC_TIMESTAMP() END'
            )
            self.register('host1')
            node = suite.uuid(1)
            for found in (
                self.records.service('host1'),
                self.records.service_and_node('host1', node)[0],
            ):
                assert found is not None
                self.assertFalse(found.forced_down)
                self.assertTrue(found.up_in_nova)


class AdoptionTest(_OnPostgreSQL, test_cell_adoption.AdoptionTest):
    pass


class FollowingTest(_OnPostgreSQL, test_cell_adoption.FollowingTest):
    pass


class GrantsTest(test_cell_adoption.GrantsTest):
    """A user whose search path is its own schema, as documented."""

    before = ('USAGE on schema nova',)

    def make_account(self) -> str:
        url = databases.POSTGRESQL.fresh()
        self.cell = cells.PostgreSQLCell(url)
        name = f'owner_of_{url.rpartition("/")[2]}'
        self.cell.query(f'CREATE ROLE {name} LOGIN')
        self.cell.query(f'CREATE SCHEMA {name} AUTHORIZATION {name}')
        self.cell.query(f'ALTER ROLE {name} SET search_path = {name}')
        return url.replace('postgres@', f'{name}@')
