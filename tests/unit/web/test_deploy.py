"""The configuration of the HTTP service, and where it may listen."""

from __future__ import annotations

import io
import os
import pathlib
import socket
from unittest import mock

from oslo_middleware import request_id
from werkzeug import test

from ironic_ownership.cmd import api as program
from ironic_ownership.conf import api
from ironic_ownership.contracts import exceptions
from ironic_ownership.web import deploy, errors, flask_app
from ironic_ownership.web.deploy import DIRECTORIES, FILES, arguments, enforcer
from tests.unit import configurations
from tests.unit.web import app_case


class AddressTest(configurations.ConfiguredCase):
    def check(self, text: str) -> None:
        conf = self.configure(f'[api]\n{text}')
        api.register_opts(conf)
        program.check_address(conf)

    def test_loopback_alone_unless_clients_are_asked(self) -> None:
        for host, allowed in (
            ('127.0.0.1', True),
            ('127.9.9.9', True),
            ('::1', True),
            ('localhost', True),
            ('0.0.0.0', False),
            ('::', False),
            ('192.0.2.1', False),
            ('example.org', False),
        ):
            self.check(f'host_ip = {host}')
            self.check(f'host_ip = {host}\nauth_strategy = http_basic')
            noauth = f'host_ip = {host}\nauth_strategy = noauth'
            if allowed:
                self.check(noauth)
                continue
            with self.assertRaises(exceptions.ConfigurationError) as caught:
                self.check(noauth)
            self.assertIn(host, str(caught.exception))

    def test_default_is_loopback_with_tokens(self) -> None:
        self.check('auth_strategy = noauth')
        conf = self.configure('')
        api.register_opts(conf)
        self.assertEqual(api.KEYSTONE, conf.api.auth_strategy)

    def test_address_that_cannot_be_used_is_named(self) -> None:
        for host, told in (
            ('127.0.0.1', 'in use'),
            ('unknown.invalid', 'Invalid host'),
        ):
            with socket.create_server(('127.0.0.1', 0)) as other:
                port = other.getsockname()[1]
                conf = self.configure(
                    f'[api]\nhost_ip = {host}\nport = {port}'
                )
                api.register_opts(conf)
                # Registers its options.
                deploy.sizelimit.RequestBodySizeLimiter(None, conf)
                error = self.enterContext(
                    mock.patch('sys.stderr', io.StringIO())
                )
                with mock.patch.multiple(
                    deploy,
                    configure=mock.Mock(return_value=conf),
                    build=mock.Mock(return_value=print),
                ):
                    self.assertEqual(1, program.main([]))
            self.assertIn(
                f'[api] host_ip = {host}, port = {port}: ', error.getvalue()
            )
            self.assertIn(told, error.getvalue())


class UnknownOptionTest(configurations.ConfiguredCase):
    def build(self, text: str) -> None:
        conf = self.configure(f'[api]\nauth_strategy = noauth\n{text}')
        api.register_opts(conf)
        deploy.build(conf)

    def test_misspelt_option_is_refused(self) -> None:
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            self.build('host_i = ::1')
        self.assertIn('[api] host_i is not an option', str(caught.exception))

    def test_option_without_effect_is_logged(self) -> None:
        with self.assertLogs('ironic_ownership.web.deploy') as logs:
            self.build('host = ::1')
        self.assertIn('[api] host is not an option', '\n'.join(logs.output))


class ArgumentsTest(configurations.ConfiguredCase):
    def test_environment_names_files_and_directories(self) -> None:
        self.assertEqual([], arguments({}))
        self.assertEqual(
            [
                '--config-file=/etc/a.conf',
                '--config-file=/etc/b.conf',
                '--config-dir=/etc/d',
            ],
            arguments(
                {
                    FILES: os.pathsep.join(['/etc/a.conf', '/etc/b.conf']),
                    DIRECTORIES: '/etc/d',
                }
            ),
        )


class EnforcerTest(configurations.ConfiguredCase):
    def test_tools_of_oslo_policy_get_the_rules_of_the_deployment(
        self,
    ) -> None:
        conf = self.configure('[oslo_policy]\npolicy_file = rules.yaml')
        file = pathlib.Path(conf.config_file[0])
        rules = file.with_name('rules.yaml')
        self.addCleanup(rules.unlink)
        rules.write_text('"ironic_ownership:service:list": "role:x"\n')
        with mock.patch.dict(os.environ, {FILES: str(file)}):
            found = enforcer()
        found.load_rules()
        self.assertEqual(
            ['ironic_ownership:service:list'], list(found.file_rules)
        )
        self.assertIn('ironic_ownership:move:create', found.registered_rules)


class FormTest(app_case.SiteCase):
    def test_every_answer_has_a_request_id_of_its_own(self) -> None:
        ids = {
            self.client.get(path).headers['x-openstack-request-id']
            for path in ('/', '/v1/services', '/nothing', '/healthcheck')
        }
        self.assertEqual(4, len(ids))

    def test_error_names_the_id_of_the_answer(self) -> None:
        for method, path in (
            ('GET', '/v1/services/missing'),
            ('GET', '/nothing'),
        ):
            answer = self.client.open(path, method=method)
            self.assertEqual(
                answer.headers['x-openstack-request-id'],
                answer.get_json()['error']['request_id'],
            )

    def test_other_methods_are_refused_and_the_known_ones_named(self) -> None:
        for method in ('PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'):
            answer = self.client.open('/v1/moves', method=method)
            self.assertEqual(405, answer.status_code)
            self.assertEqual({'GET', 'HEAD', 'POST'}, set(answer.allow))
            self.assertEqual(
                'method_not_allowed', answer.get_json()['error']['code']
            )

    def test_head_is_answered_without_a_body(self) -> None:
        for path, status in (('/v1/services', 200), ('/nothing', 404)):
            answer = self.client.head(path)
            self.assertEqual((status, b''), (answer.status_code, answer.data))

    def test_large_bodies_are_refused_with_and_without_a_length(self) -> None:
        small = {'service': 'new', 'select': {'uuids': ['x' * 120_000]}}
        error = self.refused('POST', '/v1/moves', 413, json=small)
        self.assertEqual('too_large', error['code'])
        error = self.refused(
            'POST',
            '/v1/moves',
            413,
            input_stream=io.BytesIO(b'[' * 200_000),
            content_type='application/json',
            environ_overrides={
                'wsgi.input_terminated': True,
                'HTTP_TRANSFER_ENCODING': 'chunked',
            },
        )
        self.assertEqual('too_large', error['code'])

    def test_other_types_of_bodies_are_refused(self) -> None:
        for kind in ('text/plain', 'application/x-www-form-urlencoded', ''):
            error = self.refused(
                'POST', '/v1/moves', 415, data=b'{}', content_type=kind
            )
            self.assertEqual('unsupported_media_type', error['code'])

    def test_healthy_while_nothing_else_answers(self) -> None:
        self.wired.ensure_schema = mock.Mock(
            side_effect=exceptions.RecordsUnavailableError('down')
        )
        self.assertEqual(200, self.client.get('/healthcheck').status_code)
        error = self.refused('GET', '/v1/services', 503)
        self.assertEqual('records_unavailable', error['code'])

    def test_fault_of_the_program_is_logged_and_not_told(self) -> None:
        self.wired.ensure_schema = mock.Mock(
            side_effect=KeyError('secret-of-ours')
        )
        with self.assertLogs(flask_app.LOG.logger, 'ERROR') as logged:
            error = self.refused('GET', '/v1/services', 500)
        self.assertIn('secret-of-ours', logged.output[0])
        self.assertNotIn('secret-of-ours', str(error))
        self.assertIn(error['request_id'], error['hint'])

    def test_path_has_no_line_of_the_log_of_its_own(self) -> None:
        for path in ('/v1/services/x%0a2026', '/v1/services/%1b]0;x'):
            with self.assertLogs(flask_app.LOG.logger, 'INFO') as logged:
                self.client.get(path)
            self.assertTrue(all(line.isprintable() for line in logged.output))

    def test_fault_of_a_layer_is_reported_in_the_same_form(self) -> None:
        def broken(environ, start_response):
            raise KeyError('secret-of-ours')

        layers = request_id.RequestId(errors.one_form(broken), None)
        with self.assertLogs(errors.LOG.logger, 'ERROR') as logged:
            answer = test.Client(layers).get('/v1/services')
        self.assertIn('secret-of-ours', logged.output[0])
        error = answer.get_json()['error']
        self.assertEqual((500, 'error'), (answer.status_code, error['code']))
        self.assertNotIn('secret-of-ours', answer.text)
        self.assertIn(error['request_id'], error['hint'])

    def test_no_answer_quotes_the_configuration(self) -> None:
        for error in (
            exceptions.ConfigurationError(['[x] password = secret-of-ours']),
            exceptions.IronicUnavailableError(
                'no answer from http://user:secret-of-ours@ironic:6385'
            ),
            exceptions.IronicUnavailableError(
                'no answer from http://user:x/"@secret-of-ours@ironic:6385'
            ),
        ):
            self.ironic.fail_with = error
            answer = self.client.get('/v1/compute-nodes')
            self.assertGreaterEqual(answer.status_code, 500)
            self.assertNotIn('secret-of-ours', answer.text)
            found = self.client.get('/v1/services?long=true')
            self.assertNotIn('secret-of-ours', found.text)

    def test_clients_of_other_machines_are_not_answered(self) -> None:
        for address, status in (
            ('127.0.0.1', 200),
            ('127.8.0.1', 200),
            ('::1', 200),
            ('', 200),
            ('192.0.2.1', 403),
            ('2001:db8::1', 403),
            ('somewhere', 403),
        ):
            answer = self.client.get(
                '/v1/services', environ_overrides={'REMOTE_ADDR': address}
            )
            self.assertEqual(status, answer.status_code, address)

    def test_page_of_a_stranger_cannot_ask_through_a_browser(self) -> None:
        # It has its name lead to this machine: the address is right then.
        for name, status in (
            ('localhost:6396', 200),
            ('127.0.0.1:6396', 200),
            ('[::1]:6396', 200),
            ('evil.example.org', 403),
            ('evil.example.org:6396', 403),
            ('localhost.example.org', 403),
            ('[::1', 403),
        ):
            answer = self.client.get('/v1/services', headers={'Host': name})
            self.assertEqual(status, answer.status_code, name)

    def test_request_of_a_proxy_is_not_answered(self) -> None:
        # The client of a proxy may be anywhere.
        for name, value in (
            ('Forwarded', 'for=127.0.0.1;host=localhost'),
            ('X-Forwarded-For', '127.0.0.1'),
            ('X-Forwarded-Host', 'localhost'),
            ('X-Forwarded-Proto', 'https'),
            ('Via', '1.1 proxy'),
            ('X-Real-IP', '127.0.0.1'),
        ):
            error = self.refused(
                'GET', '/v1/services', 403, headers={name: value}
            )
            self.assertIn('without a proxy', error['message'], name)

    def test_address_of_a_client_never_comes_from_a_header(self) -> None:
        with self.assertRaisesRegex(
            exceptions.ConfigurationError, 'enable_proxy_headers_parsing'
        ):
            self.build('[oslo_middleware]\nenable_proxy_headers_parsing = 1')


class StatusTest(app_case.SiteCase):
    def test_details_are_for_programs(self) -> None:
        said = errors.form_of(
            exceptions.NodeOutOfServiceError('u', 'd', 'g', ['c1']), 'req-1'
        )
        self.assertEqual(
            {
                'uuid': 'u',
                'driver': 'd',
                'conductor_group': 'g',
                'needed': ('c1',),
            },
            said['error']['details'],
        )
