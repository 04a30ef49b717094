"""The middleware around an Ironic that would accept every request."""

from __future__ import annotations

import unittest
from typing import Any

from oslo_config import cfg

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.request_header import HEADER
from ironic_ownership_middleware import application, decision, options
from ironic_ownership_middleware.decision import NodeRow, ServiceRow
from tests.unit.ironic_middleware import support
from tests.unit.ironic_middleware.support import PATH, UUID, environ, signed

OTHER = UUID.replace('1', '2')


class ApplicationCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic = support.Ironic()
        self.records = support.Records()
        self.counted: list[str] = []
        self.middleware = self.build()

    def build(self, **options: Any) -> application.Ownership:
        return application.Ownership(
            self.ironic,
            self.records,
            ['o' * 32, support.KEY],
            count=self.counted.append,
            clock=lambda: support.NOW + 1.5,
            **options,
        )

    def admitted(self, request: dict[str, Any]) -> None:
        before = len(self.ironic.received)
        response = support.ask(self.middleware, request)
        self.assertEqual(202, response.status_code)
        self.assertEqual(before + 1, len(self.ironic.received))

    def refused(
        self, status: int, code: str, request: dict[str, Any]
    ) -> support.Response:
        before = len(self.ironic.received)
        with self.assertLogs('ironic_ownership_middleware', 'WARNING'):
            response = support.ask(self.middleware, request)
        self.assertEqual(
            (status, code), (response.status_code, response.fault['code'])
        )
        self.assertEqual(before, len(self.ironic.received))
        self.assertEqual(f'refused.{code}', self.counted[-1])
        return response


class TestOwner(ApplicationCase):
    def test_owner_is_admitted_after_one_query(self) -> None:
        self.admitted(signed())
        self.assertEqual([('host1', {UUID}, set())], self.records.queries)

    def test_each_request_asks_again(self) -> None:
        self.admitted(signed())
        for service, code in (
            (ServiceRow(8, False, False), 'fenced'),
            (ServiceRow(6, False, False), 'fenced'),
            (ServiceRow(7, True, False), 'fenced'),
            (None, 'fenced'),
            (ServiceRow(7, False, True), 'forced_down'),
            (ServiceRow(7, True, True), 'forced_down'),
        ):
            self.records.service = service
            # Also if the request names no node that has a record.
            for request in (signed(), signed('POST', '/v1/nodes')):
                response = self.refused(409, code, request)
            if code == 'forced_down':
                text = response.fault['faultstring']
                self.assertIn('service set host1 --up', text)
        self.records.service = ServiceRow(7, False, False)
        self.admitted(signed())
        self.assertEqual(14, len(self.records.queries))

    def test_refusal_names_the_owner_and_the_way_out(self) -> None:
        """In the form of the errors of Ironic."""
        for owner, text in (
            ('host2', 'belongs to host2'),
            (None, 'is unowned'),
        ):
            self.records.nodes = [NodeRow(UUID, 'rack1', owner)]
            response = self.refused(409, 'not_owner', signed())
            self.assertEqual(
                ('application/json', len(response.data)),
                (response.headers['Content-Type'], response.content_length),
            )
            # Of a 409, a client of Ironic takes some for something else.
            self.assertEqual('not_owner', response.headers[HEADER])
            fault = response.fault
            self.assertEqual('Client', fault['faultcode'])
            self.assertEqual(owner, fault.get('owner'))
            self.assertIn(text, fault['faultstring'])
        self.records.nodes = [NodeRow(UUID, 'rack1', 'host2')]
        fault = self.refused(409, 'not_owner', signed()).fault
        self.assertIn(f'compute node move {UUID}', fault['faultstring'])

    def test_probe_is_neither_logged_nor_counted(self) -> None:
        """Each service sends one again and again."""
        self.records.service = None
        probe = signed(service='probe-x', epoch=0)
        with self.assertNoLogs('ironic_ownership_middleware'):
            response = support.ask(self.middleware, probe)
        self.assertEqual(
            (409, 'fenced', []),
            (response.status_code, response.fault['code'], self.counted),
        )
        self.assertEqual([], self.ironic.received)

    def test_reads_are_untouched(self) -> None:
        self.admitted(environ('GET'))
        self.admitted(environ('GET', header='nonsense'))
        self.admitted(signed('GET', epoch=1))
        self.assertEqual([], self.records.queries)

    def test_name_counts_as_the_records_have_it(self) -> None:
        self.admitted(signed('PUT', '/v1/nodes/rack1/states/power'))
        self.refused(409, 'not_found', signed('PUT', '/v1/nodes/rack2/vifs'))
        # Two records have the name: one of them is out of date.
        self.records.nodes.append(NodeRow(OTHER, 'rack1', 'host2'))
        power = signed('PUT', '/v1/nodes/rack1/states/power')
        self.refused(409, 'not_owner', power)

    def test_node_of_the_header_and_that_of_the_path_both_count(self) -> None:
        self.admitted(signed(node=UUID))
        self.records.nodes.append(NodeRow(OTHER, 'rack2', 'host2'))
        self.refused(409, 'not_owner', signed(node=OTHER))
        self.refused(
            409, 'not_owner', signed(url='/v1/nodes/rack2', node=UUID)
        )

    def test_port_or_volume_is_that_of_the_node_in_the_header(self) -> None:
        for url in ('/v1/volume/targets', f'/v1/ports/{OTHER}'):
            self.admitted(signed('POST', url, node=UUID))
            self.refused(409, 'not_found', signed('POST', url, node=OTHER))
        # Without one the service at least has to be the current one.
        self.admitted(signed('DELETE', f'/v1/ports/{OTHER}'))
        self.refused(
            409, 'fenced', signed('DELETE', f'/v1/ports/{OTHER}', epoch=6)
        )

    def test_enrolment_needs_the_current_epoch_and_no_record(self) -> None:
        self.admitted(signed('POST', '/v1/nodes'))
        self.refused(409, 'fenced', signed('POST', '/v1/nodes', epoch=6))
        # Until its service has recorded it, no service owns it.
        self.refused(409, 'not_found', signed('PATCH', f'/v1/nodes/{OTHER}'))


class TestSignature(ApplicationCase):
    def test_what_is_not_signed_costs_no_query_and_learns_nothing(
        self,
    ) -> None:
        answers = [
            self.refused(403, 'invalid_header', request).data
            for request in (
                environ(header='nonsense'),
                environ(header=''),
                signed(key='x' * 32),
                signed(service='unknown', key='x' * 32),
                {**signed(), 'REQUEST_METHOD': 'DELETE'},
                {**signed(), 'PATH_INFO': f'/v1/nodes/{OTHER}'},
                signed(time=support.NOW - 60),
                signed(time=support.NOW + 62),
            )
        ]
        self.assertEqual(1, len({*answers}))
        self.assertNotIn(b'host', answers[0])
        self.assertEqual([], self.records.queries)

    def test_log_names_the_service_whose_clock_is_wrong(self) -> None:
        for request, text in (
            (signed(time=support.NOW + 3600), 'host1 .* 3598 s ahead of that'),
            (signed(time=support.NOW - 3600), 'host1 .* 3602 s behind that'),
            (signed(key='x' * 32), '^((?!host1).)*$'),
        ):
            with self.assertLogs('ironic_ownership_middleware') as logs:
                support.ask(self.middleware, request)
            self.assertRegex(logs.output[0], text)

    def test_clocks_may_differ_by_less_than_the_lifetime(self) -> None:
        self.admitted(signed(time=support.NOW - 58))
        self.admitted(signed(time=support.NOW + 61))

    def test_every_configured_key_is_good(self) -> None:
        self.admitted(signed(key='o' * 32))

    def test_path_below_a_prefix_is_the_same(self) -> None:
        claim = signed(url=f'https://x/baremetal{PATH}')
        self.admitted(
            {**claim, 'SCRIPT_NAME': '/baremetal', 'PATH_INFO': PATH}
        )


class TestWithoutHeader(ApplicationCase):
    def test_it_passes_without_a_query(self) -> None:
        self.admitted(environ())
        self.admitted(environ('POST', '/v1/nodes'))
        self.assertEqual([], self.records.queries)

    def test_it_is_refused_where_it_is_required(self) -> None:
        asked: list[str] = []

        def refusal(request: dict[str, Any]) -> decision.Refusal:
            asked.append(request['PATH_INFO'])
            return decision.UNSIGNED

        self.middleware = self.build(without_header=refusal)
        self.refused(403, 'header_required', environ())
        self.refused(403, 'header_required', environ('POST', '/v1/ports'))
        self.refused(
            403, 'header_required', environ('GET', f'{PATH}?_method=patch')
        )
        self.assertEqual(3, len(asked))
        self.admitted(environ('GET'))
        self.admitted(environ('POST', '/v1/chassis'))
        self.admitted(signed())
        self.assertEqual(3, len(asked))
        self.assertEqual(1, len(self.records.queries))


class TestWithoutRecords(ApplicationCase):
    def setUp(self) -> None:
        super().setUp()
        self.records.error = exceptions.RecordsUnavailableError('frozen')

    def test_requests_with_a_header_are_refused(self) -> None:
        response = self.refused(503, 'records_unavailable', signed())
        self.assertEqual('Server', response.fault['faultcode'])
        self.assertIn('records_unavailable', self.counted)
        self.admitted(environ())
        self.admitted(environ('GET'))
        self.records.error = None
        self.admitted(signed())

    def test_they_are_admitted_where_that_is_configured(self) -> None:
        self.middleware = self.build(admits_without_records=True)
        with self.assertLogs('ironic_ownership_middleware', 'WARNING') as logs:
            self.admitted(signed())
        self.assertIn('without the records: frozen', logs.output[0])
        self.assertEqual(['records_unavailable'], self.counted)
        # That is no way around the signature.
        self.refused(403, 'invalid_header', signed(key='x' * 32))


class TestConfiguration(unittest.TestCase):
    def faults(self, **values: object) -> tuple[str, ...]:
        conf = cfg.ConfigOpts()
        conf.register_opt(cfg.StrOpt('auth_strategy', default='noauth'))
        conf([], default_config_files=[], default_config_dirs=[])
        options.register_opts(conf)
        for name, value in values.items():
            conf.set_override(name, value, 'ownership')
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            application.build(support.Ironic(), conf)
        return caught.exception.faults

    def test_ironic_does_not_start_without_what_is_needed(self) -> None:
        self.assertEqual(
            (
                '[ownership] connection is not set',
                '[ownership] shared_keys is not set',
            ),
            self.faults(),
        )
        self.assertIn(
            '32 characters',
            self.faults(connection='sqlite:////x', shared_keys=['a' * 31])[0],
        )
        for name in ('answer_timeout', 'signature_lifetime'):
            for value in ('nan', 'inf', '1e10'):
                with self.subTest(name, value=value):
                    (fault,) = self.faults(
                        connection='sqlite:////x',
                        shared_keys=['a' * 32],
                        **{name: value},
                    )
                    self.assertIn(f'[ownership] {name} = ', fault)
        self.assertIn(
            'only "*"',
            self.faults(
                connection='sqlite:////tmp/x.sqlite',
                shared_keys=['a' * 32],
                require_for=['user:nova'],
            )[0],
        )
