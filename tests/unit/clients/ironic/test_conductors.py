"""Pages of conductors, old servers, and answers that are not conductors."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions, model
from tests.unit.clients import recorded_http
from tests.unit.clients.ironic import test_client


def row(number: int, **values) -> dict[str, object]:
    return {
        'hostname': f'c{number}',
        'conductor_group': '',
        'alive': True,
        'drivers': ['d'],
        **values,
    }


class ConductorsTest(test_client.PlayedTestCase):
    def open(self, *rows, page_size=3, **server):
        self.ironic, bare_metal = self.play(server=server, page_size=page_size)
        self.ironic.conductors = list(rows)
        return bare_metal

    def test_list_of_any_length_is_complete(self):
        for count in (0, 1, 3, 4, 6, 7):
            bare_metal = self.open(*map(row, range(count)))
            self.assertEqual(
                [f'c{n}' for n in range(count)],
                [c.hostname for c in bare_metal.conductors()],
            )

    def test_server_that_gives_smaller_pages_gives_the_whole_list(self):
        bare_metal = self.open(*map(row, range(7)), max_limit=2)
        self.assertEqual(7, len(bare_metal.conductors()))

    def test_only_the_needed_fields_are_requested(self):
        self.open(row(1)).conductors()
        path, query = self.ironic.requests[-1]
        self.assertEqual('/v1/conductors', path)
        self.assertEqual(
            {
                'fields': ['hostname,conductor_group,alive,drivers'],
                'limit': ['3'],
            },
            query,
        )

    def test_odd_values_make_no_conductor_alive_by_mistake(self):
        bare_metal = self.open(
            row(1, conductor_group='Rack-A', drivers=['d', 7, None]),
            row(2, alive='yes', drivers=None, conductor_group=None),
            row(3, alive=False),
            {'alive': True},
            'nothing',
            row(4),
            page_size=1000,
        )
        with self.assertLogs('ironic_ownership.clients', 'WARNING') as logs:
            found = bare_metal.conductors()
        self.assertEqual(2, len(logs.records))
        self.assertEqual(
            [
                model.Conductor('c1', 'rack-a', frozenset({'d'})),
                model.Conductor('c2', '', frozenset(), alive=False),
                model.Conductor('c3', '', frozenset({'d'}), alive=False),
                model.Conductor('c4', '', frozenset({'d'})),
            ],
            list(found),
        )

    def test_anything_else_is_an_error_and_never_an_empty_list(self):
        for answer, kind in (
            (recorded_http.page('{}'), exceptions.IronicError),
            (recorded_http.page('{"conductors": {}}'), exceptions.IronicError),
            (recorded_http.fault(403, 'no'), exceptions.IronicError),
            (recorded_http.fault(404, 'Not Found'), exceptions.IronicError),
            (
                recorded_http.fault(503, 'busy'),
                exceptions.IronicUnavailableError,
            ),
        ):
            bare_metal = self.open(row(1))
            bare_metal.check()
            self.ironic.everything = lambda answer=answer: answer
            self.refused(kind, bare_metal.conductors)

    def test_page_that_leads_nowhere_is_an_error(self):
        bare_metal = self.open(row(1))
        bare_metal.check()
        self.ironic.everything = lambda: recorded_http.page(
            '{"conductors": [{"hostname": "c1"}], "next": "x"}'
        )
        self.refused(exceptions.IronicError, bare_metal.conductors)
        self.assertEqual(3, len(self.ironic.requests))
