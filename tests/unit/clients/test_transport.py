"""Options of the group [ironic]."""

from __future__ import annotations

import http.server
import threading
from unittest import mock

import testtools
from keystoneauth1 import exceptions as ksa

from ironic_ownership.clients import options as client_options
from ironic_ownership.clients import transport
from ironic_ownership.clients.ironic import errors
from ironic_ownership.contracts import exceptions, model
from tests.unit.clients import recorded_http


def keystone(url):
    """Return a configuration with a user of Keystone."""
    conf = recorded_http.configuration(auth_type='password')
    conf.register_opts(dict(client_options.list_opts())['ironic'], 'ironic')
    for name, value in (
        ('auth_url', url),
        ('username', 'u'),
        ('password', 'p'),
        ('system_scope', 'all'),
    ):
        conf.set_override(name, value, 'ironic')
    return conf


class OpenTest(testtools.TestCase):
    def refused(self, **options):
        error = self.assertRaises(
            exceptions.OwnershipError,
            client_options.open_ironic,
            recorded_http.configuration(**options),
        )
        self.assertNotIn('\n', str(error))
        return str(error)

    def test_incomplete_configuration_names_what_to_add(self):
        for options, *words in (
            ({}, 'auth_type is not set', 'Add auth_type = password'),
            ({'auth_type': 'none'}, '[ironic] endpoint_override is not set'),
            ({'auth_type': 'nonesuch'}, 'nonesuch'),
            ({'auth_type': 'password'}, 'auth_url'),
            (
                {'auth_type': 'none', 'endpoint_override': 'http://h$hush'},
                '[ironic] a $ is written $$',
            ),
        ):
            text = self.refused(**options)
            self.assertNotIn('hush', text)
            for word in words:
                self.assertIn(word, text)

    def test_timeout_that_no_request_could_have_is_refused(self):
        for seconds in (0, -1, 10**10):
            conf = recorded_http.configuration(
                auth_type='none', endpoint_override='http://h'
            )
            transport.register_opts(conf, 'ironic')
            conf.set_override('timeout', seconds, 'ironic')
            error = self.assertRaises(
                exceptions.ConfigurationError, client_options.open_ironic, conf
            )
            self.assertIn(f'[ironic] timeout = {seconds}', str(error))

    def test_malformed_endpoint_is_refused(self):
        for url in (
            'ironic',
            'ironic:6385',
            '//ironic',
            'ftp://ironic',
            'http://',
            'http://:6385',
            'http://h:port',
            'http://h:99999999',
            'http://[::1',
            'http://h h',
        ):
            text = self.refused(auth_type='none', endpoint_override=url)
            self.assertIn('is not a URL', text)

    def test_password_in_an_endpoint_is_not_shown(self):
        for url in ('ftp://u:hush@h', 'http://u:hu/sh@h:port', 'http://u:a@'):
            text = self.refused(auth_type='none', endpoint_override=url)
            self.assertIn('://***@', text)
            self.assertNotIn('u:', text)
        bare_metal = recorded_http.open_ironic('http://u:hush@127.0.0.1:1')
        error = self.assertRaises(
            exceptions.IronicUnavailableError,
            bare_metal.get,
            recorded_http.uuid(0),
        )
        self.assertIn('http://***@127.0.0.1:1', str(error))
        self.assertNotIn('hush', str(error))

    def test_server_that_is_down_is_unavailable_and_not_wrong(self):
        bare_metal = recorded_http.open_ironic('http://127.0.0.1:1')
        for ask in (
            bare_metal.check,
            lambda: bare_metal.scan(model.Scope()),
            lambda: bare_metal.get(recorded_http.uuid(1)),
            bare_metal.shard_counts,
        ):
            error = self.assertRaises(exceptions.IronicUnavailableError, ask)
            self.assertIn('Connection refused', str(error))
            self.assertLess(len(str(error)), 200)

    def test_keystone_that_is_down_is_unavailable_too(self):
        bare_metal = client_options.open_ironic(
            keystone('http://127.0.0.1:1/v3')
        )
        error = self.assertRaises(
            exceptions.IronicUnavailableError, bare_metal.scan, model.Scope()
        )
        self.assertIn('Keystone does not answer: ', str(error))
        self.assertNotIn('Ironic', str(error))

    def test_keystone_that_answers_anything_is_no_traceback(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers['Content-Length']))
                self.send_response(201)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        serve = threading.Thread(target=server.serve_forever, args=(0.01,))
        serve.start()
        conf = keystone(f'http://127.0.0.1:{server.server_port}/v3')
        for body in (
            *(b'5', b'null', b'[' * 100_000, b'{"token": []}'),
            b'{"token": {"expires_at": Infinity}}',
            b'{"token": {"expires_at": "2100-01-01", "catalog": [5]}}',
        ):
            with self.subTest(body[:60]):
                error = self.assertRaises(
                    exceptions.IronicError,
                    client_options.open_ironic(conf).scan,
                    model.Scope(),
                )
                self.assertIn('The request to ', str(error))
                self.assertNotIn('\n', str(error))

    def test_same_error_has_the_same_text(self):
        """A change would be logged, and stored, at each attempt."""
        texts = set()
        for number in (1, 2):
            cause = ksa.Unauthorized('no', request_id=f'req-{number}')
            texts.add(transport.one_line(cause))
            outer = RuntimeError('The request failed')
            outer.__cause__ = cause
            texts.add(transport.first_cause(outer).partition(': ')[2])
        self.assertEqual({'no (HTTP 401)'}, texts)

    def test_missing_authority_file_is_no_traceback(self):
        bare_metal = recorded_http.open_ironic(
            'https://127.0.0.1:1', cafile='/nonexistent.pem'
        )
        error = self.assertRaises(
            exceptions.IronicError, bare_metal.scan, model.Scope()
        )
        self.assertIn('nonexistent.pem', str(error))

    def test_server_without_tls_is_named_and_not_its_certificate(self):
        played = recorded_http.PlayedIronic()
        self.addCleanup(played.stop)
        bare_metal = recorded_http.open_ironic(
            played.url.replace('http:', 'https:')
        )
        error = self.assertRaises(
            exceptions.IronicError, bare_metal.scan, model.Scope()
        )
        self.assertIn('Write http:// in its URL', str(error))
        self.assertNotIn('cafile', str(error))

    def test_certificate_that_is_refused_may_be_of_another_time(self):
        adapter = mock.Mock()
        adapter.request.side_effect = ksa.SSLError(
            'SSL exception connecting to https://h/v1/nodes: '
            '[SSL: CERTIFICATE_VERIFY_FAILED] certificate is not yet valid'
        )
        error = self.assertRaises(
            exceptions.IronicError, errors.IRONIC.send, adapter, 'GET', '/'
        )
        self.assertIn('[ironic] cafile', error.hint)
        self.assertIn('clock of this machine', error.hint)

    def test_listed_options_are_unique_and_have_help(self):
        opts = dict(client_options.list_opts())['ironic']
        self.assertEqual(60, recorded_http.configuration().ironic.timeout)
        names = [opt.dest for opt in opts]
        self.assertEqual(len(names), len(set(names)))
        for name in ('page_size', 'auth_type', 'endpoint_override', 'timeout'):
            self.assertIn(name, names)
        self.assertEqual([], [opt.dest for opt in opts if not opt.help])
