"""The configuration of the HTTP service, and where it may listen."""

from __future__ import annotations

import io
import os
import pathlib
import socket
from unittest import mock

import requests
from oslo_config import cfg
from oslo_middleware import request_id
from werkzeug import test

from ironic_ownership.cmd import api as program
from ironic_ownership.conf import api
from ironic_ownership.contracts import exceptions
from ironic_ownership.web import deploy, errors, flask_app
from ironic_ownership.web.deploy import DIRECTORIES, FILES, arguments, enforcer
from tests.unit import configurations
from tests.unit.web import app_case

SECRET = 'secret-of-ours'


class ConfigurationTest(configurations.ConfiguredCase):
    def conf(self, text: str) -> cfg.ConfigOpts:
        conf = self.configure(f'[api]\n{text}')
        api.register_opts(conf)
        return conf

    def test_loopback_alone_unless_clients_are_asked(self) -> None:
        self.assertEqual(api.KEYSTONE, self.conf('').api.auth_strategy)
        noauth = 'auth_strategy = noauth'
        program.check_address(self.conf(noauth))
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
            place = f'host_ip = {host}\n'
            program.check_address(self.conf(place))
            program.check_address(
                self.conf(f'{place}auth_strategy = http_basic')
            )
            conf = self.conf(f'{place}{noauth}')
            if allowed:
                program.check_address(conf)
                continue
            with self.assertRaisesRegex(exceptions.ConfigurationError, host):
                program.check_address(conf)

    def test_address_that_cannot_be_used_is_named(self) -> None:
        for host, told in (
            ('127.0.0.1', 'in use'),
            ('unknown.invalid', 'Invalid host'),
        ):
            with socket.create_server(('127.0.0.1', 0)) as other:
                place = f'host_ip = {host}\nport = {other.getsockname()[1]}'
                conf = self.conf(place)
                # Registers its options.
                deploy.sizelimit.RequestBodySizeLimiter(None, conf)
                with (
                    mock.patch('sys.stderr', io.StringIO()) as error,
                    mock.patch.multiple(
                        deploy,
                        configure=mock.Mock(return_value=conf),
                        build=mock.Mock(return_value=print),
                    ),
                ):
                    self.assertEqual(1, program.main([]))
            named = ', '.join(place.splitlines())
            self.assertIn(f'[api] {named}: ', error.getvalue())
            self.assertIn(told, error.getvalue())

    def test_misspelt_option_is_refused_and_one_without_effect_logged(
        self,
    ) -> None:
        noauth = 'auth_strategy = noauth\n'
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            deploy.build(self.conf(f'{noauth}host_i = ::1'))
        self.assertIn('[api] host_i is not an option', str(caught.exception))
        with self.assertLogs('ironic_ownership.web.deploy') as logs:
            deploy.build(self.conf(f'{noauth}host = ::1'))
        self.assertIn('[api] host is not an option', '\n'.join(logs.output))

    def test_environment_names_files_and_directories(self) -> None:
        self.assertEqual([], arguments({}))
        files = os.pathsep.join(['/etc/a.conf', '/etc/b.conf'])
        self.assertEqual(
            [
                '--config-file=/etc/a.conf',
                '--config-file=/etc/b.conf',
                '--config-dir=/etc/d',
            ],
            arguments({FILES: files, DIRECTORIES: '/etc/d'}),
        )

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
        ids = set()
        for path in ('/', '/v1/services', '/nothing', '/healthcheck'):
            answer = self.client.get(path)
            ids.add(answer.headers['x-openstack-request-id'])
            if answer.status_code == 404:
                error = answer.get_json()['error']
                self.assertIn(error['request_id'], ids)
        self.assertEqual(4, len(ids))

    def test_query_that_is_no_text_is_refused(self) -> None:
        for query in ('\xff=1', 'limit=\xe9', '%ff'):
            sent = {'QUERY_STRING': query}
            self.refused('GET', '/v1/moves', 400, environ_overrides=sent)

    def test_other_methods_are_refused_and_the_known_ones_named(self) -> None:
        for method in ('PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'):
            answer = self.client.open('/v1/moves', method=method)
            self.assertEqual(405, answer.status_code)
            self.assertEqual({'GET', 'HEAD', 'POST'}, set(answer.allow))
            self.assertEqual(
                'method_not_allowed', answer.get_json()['error']['code']
            )
        for path, status in (('/v1/services', 200), ('/nothing', 404)):
            answer = self.client.head(path)
            self.assertEqual((status, b''), (answer.status_code, answer.data))

    def test_bodies_that_are_large_or_of_another_type_are_refused(
        self,
    ) -> None:
        large = {'service': 'new', 'select': {'uuids': ['x' * 120_000]}}
        endless = {
            'input_stream': io.BytesIO(b'[' * 200_000),
            'content_type': 'application/json',
            'environ_overrides': {
                'CONTENT_LENGTH': '',
                'wsgi.input_terminated': True,
                'HTTP_TRANSFER_ENCODING': 'chunked',
            },
        }
        of_type = 'unsupported_media_type'
        for status, code, more in (
            (413, 'too_large', {'json': large}),
            (413, 'too_large', endless),
            *(
                (415, of_type, {'data': b'{}', 'content_type': kind})
                for kind in (
                    *('text/plain', 'application/x-www-form-urlencoded', ''),
                )
            ),
        ):
            error = self.refused('POST', '/v1/moves', status, **more)
            self.assertEqual(code, error['code'])

    def test_healthy_while_nothing_else_answers(self) -> None:
        self.wired.ensure_schema = mock.Mock(
            side_effect=exceptions.RecordsUnavailableError('down')
        )
        self.assertEqual(200, self.client.get('/healthcheck').status_code)
        error = self.refused('GET', '/v1/services', 503)
        self.assertEqual('records_unavailable', error['code'])

    def test_fault_of_the_program_is_logged_and_not_told(self) -> None:
        broken = mock.Mock(side_effect=KeyError(SECRET))
        self.wired.ensure_schema = broken
        layers = request_id.RequestId(errors.one_form(broken), None)
        for logger, client in (
            (flask_app.LOG.logger, self.client),
            (errors.LOG.logger, test.Client(layers)),
        ):
            with self.assertLogs(logger, 'ERROR') as logged:
                answer = client.get('/v1/services')
            self.assertIn(SECRET, logged.output[0])
            self.assertNotIn(SECRET, answer.text)
            error = answer.get_json()['error']
            self.assertEqual(
                (500, 'error'), (answer.status_code, error['code'])
            )
            self.assertIn(error['request_id'], error['hint'])

    def test_path_has_no_line_of_the_log_of_its_own(self) -> None:
        for path in ('/v1/services/x%0a2026', '/v1/services/%1b]0;x'):
            with self.assertLogs(flask_app.LOG.logger, 'INFO') as logged:
                self.client.get(path)
            self.assertTrue(all(line.isprintable() for line in logged.output))

    def test_no_answer_quotes_the_configuration(self) -> None:
        answers = 'no answer from http://user:{}@ironic:6385'.format
        for error in (
            exceptions.ConfigurationError([f'[x] password = {SECRET}']),
            exceptions.IronicUnavailableError(answers(SECRET)),
            exceptions.IronicUnavailableError(answers(f'x/"@{SECRET}')),
        ):
            self.ironic.fail_with = error
            answer = self.client.get('/v1/compute-nodes')
            self.assertGreaterEqual(answer.status_code, 500)
            self.assertNotIn(SECRET, answer.text)
            found = self.client.get('/v1/services?long=true')
            self.assertNotIn(SECRET, found.text)

    def test_clients_of_other_machines_are_not_answered(self) -> None:
        for status, addresses in (
            (200, ('127.0.0.1', '127.8.0.1', '::1', '')),
            (403, ('192.0.2.1', '2001:db8::1', 'somewhere')),
        ):
            for address in addresses:
                where = {'REMOTE_ADDR': address}
                self.get('/v1/services', status, environ_overrides=where)

    def test_page_of_a_stranger_cannot_ask_through_a_browser(self) -> None:
        # It has its name lead to this machine: the address is right then.
        for status, names in (
            (200, ('localhost:6396', '127.0.0.1:6396', '[::1]:6396')),
            (403, ('evil.example.org', 'evil.example.org:6396')),
            (403, ('localhost.example.org', '[::1')),
        ):
            for name in names:
                self.get('/v1/services', status, headers={'Host': name})

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
        # Nor does the address of a client come from a header.
        with self.assertRaisesRegex(
            exceptions.ConfigurationError, 'enable_proxy_headers_parsing'
        ):
            self.build('[oslo_middleware]\nenable_proxy_headers_parsing = 1')


class FrozenKeystoneTest(app_case.SiteCase):
    options = 'auth_strategy = keystone'
    keystone = (
        '[keystone_authtoken]\nauth_type = password\n'
        'auth_url = http://127.0.0.1:1/v3\nusername = u\npassword = p\n'
        'www_authenticate_uri = http://127.0.0.1:1\n'
    )

    def test_keystone_that_does_not_answer_is_unavailable(self) -> None:
        def wait(*args: object, timeout: float = 0, **how: object) -> None:
            waits.append(timeout)
            raise requests.ReadTimeout from TimeoutError()

        for line, seconds in (('', 10), ('http_connect_timeout = 3', 3)):
            waits: list[float] = []
            self.sections = f'{self.keystone}{line}'
            client = self.build()
            with (
                mock.patch.object(requests.Session, 'request', wait),
                self.assertLogs(errors.LOG.logger, 'ERROR') as logged,
            ):
                answer = client.get(
                    '/v1/services', headers={'X-Auth-Token': 'any'}
                )
            self.assertEqual({seconds}, set(waits))
            self.assertEqual(503, answer.status_code)
            code = answer.get_json()['error']['code']
            self.assertEqual('unavailable', code)
            (logs,) = logged.output
            self.assertIn('Keystone does not answer', logs)
            self.assertNotIn('Traceback', logs)
        self.sections = f'{self.keystone}http_connect_timeout = 0'
        with self.assertRaisesRegex(
            exceptions.ConfigurationError, 'http_connect_timeout is less'
        ):
            self.build()
