"""A command whose options are not those of the services changes nothing."""

from __future__ import annotations

from unittest import mock

from ironic_ownership.api.operation_client import LocalClient
from ironic_ownership.conf import configuration
from ironic_ownership.contracts import exceptions, model
from tests.unit.engine import world
from tests.unit.web import app_case

DB, TOOZ = '[ownership] backend = db', '[ownership] backend = tooz'
CELL = '[nova] cell_schema = nova'


class CommonOptionsTest(app_case.SiteCase):
    """``new`` works next to a cell."""

    def setUp(self) -> None:
        super().setUp()
        self.work('new', DB, CELL)
        self.api = LocalClient(self.wired, 'operator', 'req-1')

    def work(self, host: str, *common: str, interval: float = 60.0) -> None:
        """Let a service register with these options, and report itself."""
        self.records.register(
            host,
            world.advertised(world.ALL, 20.0, *common),
            incarnation='one',
            alive=(),
        )
        self.records.report_conditions(
            host, 'one', (), interval=interval, at=0.0
        )

    def disable(self, *own: str) -> str:
        """Change a service by a command with options; return its refusal."""
        same = mock.patch.object(
            configuration, 'common_options', lambda conf: own
        )
        with same:
            try:
                self.api.call(
                    'service:set',
                    path={'host': 'new'},
                    body={'disabled': True},
                )
            except exceptions.ConfigurationError as exc:
                return str(exc)
        return ''

    def is_disabled(self) -> bool:
        found = self.records.service('new')
        assert isinstance(found, model.Service)
        return found.disabled

    def test_change_is_refused_and_says_what_differs(self) -> None:
        for own, what in (
            ((DB,), f'new: {CELL}; this process: nothing'),
            ((TOOZ, CELL), f'new: {DB}; this process: {TOOZ}'),
        ):
            self.assertIn(what, self.disable(*own))
            self.assertFalse(self.is_disabled())
        # It may read.
        self.assertEqual(2, len(self.api.call('service:list')['services']))
        self.assertEqual('', self.disable(DB, CELL))
        self.assertTrue(self.is_disabled())

    def test_one_service_with_the_same_options_is_enough(self) -> None:
        self.work('old', DB)
        self.assertEqual('', self.disable(DB))

    def test_service_that_does_not_work_does_not_count(self) -> None:
        self.work('new', DB, CELL, interval=0.0)
        self.assertEqual('', self.disable(DB))

    def test_service_of_an_earlier_release_does_not_count(self) -> None:
        self.work('new')
        self.assertEqual('', self.disable(DB))
