"""Pages of conductors, old servers, and answers that are not conductors."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.model import Conductor
from tests.unit.clients.ironic import test_client
from tests.unit.clients.recorded_http import fault, page


def row(number: int, **values) -> dict[str, object]:
    return {
        'hostname': f'c{number}',
        'conductor_group': '',
        'alive': True,
        'drivers': ['d'],
        **values,
    }


class ConductorsTest(test_client.PlayedTestCase):
    def found(self, *rows, page_size=3, **server):
        self.play(server=server, page_size=page_size)
        self.ironic.conductors = list(rows)
        return list(self.client.conductors())

    def test_list_of_any_length_is_complete(self):
        for count in (0, 1, 3, 4, 6, 7):
            for max_limit in (1000, 2):
                rows = map(row, range(count))
                found = self.found(*rows, max_limit=max_limit)
                self.assertEqual(
                    [f'c{n}' for n in range(count)],
                    [c.hostname for c in found],
                )

    def test_only_the_needed_fields_are_requested(self):
        self.found(row(1))
        fields = ['hostname,conductor_group,alive,drivers']
        self.assertEqual(
            ('/v1/conductors', {'fields': fields, 'limit': ['3']}),
            self.ironic.requests[-1],
        )

    def test_odd_values_make_no_conductor_alive_by_mistake(self):
        with self.assertLogs('ironic_ownership.clients', 'WARNING') as logs:
            found = self.found(
                row(1, conductor_group='Rack-A', drivers=['d', 7, None]),
                row(2, alive='yes', drivers=None, conductor_group=None),
                row(3, alive=False),
                {'alive': True},
                'nothing',
                row(4),
                page_size=1000,
            )
        self.assertEqual(2, len(logs.records))
        d = frozenset({'d'})
        self.assertEqual(
            [
                Conductor('c1', 'rack-a', d),
                Conductor('c2', '', frozenset(), alive=False),
                Conductor('c3', '', d, alive=False),
                Conductor('c4', '', d),
            ],
            found,
        )

    def test_anything_else_is_an_error_and_never_an_empty_list(self):
        other = exceptions.IronicError
        for answer, kind in (
            (page('{}'), other),
            (page('{"conductors": {}}'), other),
            # This page leads nowhere.
            (
                page('{"conductors": [{"hostname": "c1"}], "next": "x"}'),
                other,
            ),
            (fault(403, 'no'), other),
            (fault(404, 'Not Found'), other),
            (fault(503, 'busy'), exceptions.IronicUnavailableError),
        ):
            self.play(page_size=3)
            self.client.check()
            self.answer(answer)
            self.refused(kind, self.client.conductors)
            self.assertLessEqual(len(self.ironic.requests), 3)
