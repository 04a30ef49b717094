"""The process of the HTTP service: where it listens, how it ends."""

from __future__ import annotations

import concurrent.futures
import functools
import http.client
import pathlib
import signal
import socket
import subprocess
import sys

from lab import certificates, process
from tests.functional.support import api_process, command_line, databases

_CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
_SETTINGS = _CHECKOUT / 'etc/ironic_ownership/gunicorn.conf.py'
_GUNICORN = pathlib.Path(sys.executable).with_name('gunicorn')


class ServedTest(api_process.ApiCase):
    nodes_of_each = 1

    def assert_many_are_served(self, api: api_process.Api) -> None:
        """Let many clients ask at once: each gets the whole answer."""
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(
                pool.map(
                    lambda _: api.ask('GET', '/v1/compute-nodes'), range(32)
                )
            )
        for answer in answers:
            self.assertEqual(200, answer.status, answer.text)
            found = [row['uuid'] for row in answer.body['compute_nodes']]
            self.assertEqual(self.nodes, found)
        ids = {answer.headers['x-openstack-request-id'] for answer in answers}
        self.assertEqual(len(answers), len(ids))

    def assert_sigterm_ends(self, api: api_process.Api) -> None:
        api.process.signal(signal.SIGTERM)
        self.assertEqual(0, api.process.wait(api_process.TIMEOUT))

    def test_process_serves_loopback_alone_until_sigterm(self) -> None:
        api = self.serve()
        self.assertIn(
            'only those on this machine', api.process.log.read_text()
        )
        with socket.socket() as other:
            # The same port of any other address is still free.
            other.bind(('127.0.0.2', api.port))
        # The server passes the headers of a proxy on to the service.
        said = api.ask(
            'GET', '/v1/services', headers={'X-Forwarded-For': '127.0.0.1'}
        )
        self.assertEqual(403, said.status, said.text)
        self.assert_large_bodies_are_refused(api)
        self.assert_many_are_served(api)
        self.assert_sigterm_ends(api)

    def assert_large_bodies_are_refused(self, api: api_process.Api) -> None:
        body = b'[' * 150_000
        said = [api.ask('POST', '/v1/moves', body)]
        connection = http.client.HTTPConnection(
            '127.0.0.1', api.port, timeout=api_process.TIMEOUT
        )
        self.addCleanup(connection.close)
        connection.request(
            'POST',
            '/v1/moves',
            iter([body]),
            {'Content-Type': 'application/json'},
            encode_chunked=True,
        )
        said.append(api_process.Answer(connection.getresponse(), False))
        for answer in said:
            self.assertEqual(413, answer.status)
            self.assertEqual('too_large', answer.body['error']['code'])
            self.assertNotIn('waitress', str(answer.headers).lower())

    def test_port_that_is_taken_is_one_line(self) -> None:
        config = self.configure()
        with socket.socket() as other:
            other.bind(('127.0.0.1', self.port))
            other.listen()
            done = subprocess.run(
                [*api_process.COMMAND, '--config-file', str(config)],
                capture_output=True,
                text=True,
                timeout=api_process.TIMEOUT,
            )
        self.assertEqual(1, done.returncode, done)
        self.assertNotIn('Traceback', done.stderr)

    def gunicorn(self, *options: str) -> process.Process:
        """Return a server that is not started."""
        config = self.configure()
        return process.Process(
            [
                *(str(_GUNICORN), '--config', str(_SETTINGS)),
                *('--bind', f'127.0.0.1:{self.port}'),
                *('--env', f'IRONIC_OWNERSHIP_CONFIG_FILES={config}'),
                *options,
                'ironic_ownership.web.wsgi:application',
            ],
            self.log,
        )

    def test_clients_of_a_service_with_tls_check_its_certificate(
        self,
    ) -> None:
        made = certificates.Certificates(
            databases.temporary_directory('certificates')
        )
        server = self.gunicorn(
            *('--certfile', str(made.certificate), '--keyfile', str(made.key))
        )
        self.addCleanup(server.kill)
        server.start()
        server.wait_until(
            functools.partial(process.answers_tcp, self.port), 'listen'
        )
        there = ('--os-endpoint-override', f'https://127.0.0.1:{self.port}')
        words = ('service', 'list')
        done = command_line.run(
            *there, '--os-cacert', str(made.authority), *words
        )
        self.assertEqual(0, done.returncode, done)
        self.assertEqual(self.lab.run(*words).stdout, done.stdout)
        done = command_line.run(*there, *words)
        self.assertEqual((1, ''), (done.returncode, done.stdout), done)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertIn('CERTIFICATE_VERIFY_FAILED', done.stderr)

    def test_gunicorn_serves_the_same_from_several_processes(self) -> None:
        timeout = str(int(api_process.TIMEOUT))
        api = self.run_server(self.gunicorn('--timeout', timeout, '--preload'))
        self.assert_many_are_served(api)
        said = api.ask('POST', '/v1/moves', b'{')
        self.assertEqual(415, said.status)
        self.assert_sigterm_ends(api)
