"""The HTTP service as a process of its own, beside a real Ironic."""

from __future__ import annotations

import concurrent.futures
import urllib.parse

from prometheus_client import parser

from lab import process
from tests.functional.support import api_process


class ResourcesTest(api_process.ApiCase):
    nodes_of_each = 1

    def setUp(self) -> None:
        super().setUp()
        self.api = self.serve()

    def get(self, path: str, status: int = 200):
        answer = self.api.ask('GET', path)
        self.assertEqual(status, answer.status, answer.text)
        return answer.body

    def test_move_is_made_once_and_both_edges_know_it(self) -> None:
        body = {
            'service': 'new',
            'select': {'uuids': self.nodes[:1]},
            'reason': 'maintenance of old',
        }
        made = self.api.ask('POST', '/v1/moves', body)
        self.assertEqual(201, made.status, made.text)
        self.assertEqual('new', self.owners()[self.nodes[0]])
        path = urllib.parse.urlsplit(made.headers['location']).path
        request_id = made.body['request_id']
        self.assertEqual(
            self.lab.json('move', 'show', request_id, '--nodes'),
            self.get(path),
        )
        again = self.api.ask('POST', '/v1/moves', body)
        self.assertEqual(200, again.status, again.text)
        self.assertEqual(1, len(self.get('/v1/moves')['moves']))

    def test_many_clients_at_once_get_the_whole_answer(self) -> None:
        paths = [
            '/v1/compute-nodes',
            '/v1/services?long=true',
            f'/v1/compute-nodes/{self.nodes[0]}/explain',
            '/metrics',
        ] * 8
        # Until they were read once, only one client waits for them.
        process.wait_for(
            lambda: self.api.ask('GET', '/metrics').status == 200, 'metrics'
        )
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda p: self.api.ask('GET', p), paths))
        self.assertEqual({200}, {answer.status for answer in answers})
        lists = [a.body['compute_nodes'] for a in answers[::4]]
        for rows in lists:
            self.assertEqual(self.nodes, [row['uuid'] for row in rows])
        ids = {answer.headers['x-openstack-request-id'] for answer in answers}
        self.assertEqual(len(paths), len(ids))

    def test_ironic_that_is_down_is_reported_and_passes(self) -> None:
        self.server.kill()
        self.addCleanup(self.server.start)
        error = self.get('/v1/compute-nodes', 503)['error']
        self.assertEqual('ironic_unavailable', error['code'])
        self.get('/v1/services')
        self.assertEqual(200, self.api.ask('GET', '/healthcheck').status)
        problems = self.get('/v1/check')['problems']
        self.assertIn('ironic_unavailable', [p['code'] for p in problems])
        self.server.start()
        self.assertEqual(
            len(self.nodes),
            len(self.get('/v1/compute-nodes')['compute_nodes']),
        )

    def test_prometheus_reads_the_metrics(self) -> None:
        answer = self.api.ask('GET', '/metrics')
        samples = {
            (sample.name, *sample.labels.values()): sample.value
            for family in parser.text_string_to_metric_families(answer.text)
            for sample in family.samples
        }
        self.assertEqual(
            len(self.nodes), samples['ironic_ownership_nodes', 'old', 'owned']
        )
        self.assertEqual(1, samples['ironic_ownership_service_alive', 'new'])

    def test_body_that_is_too_large_is_refused(self) -> None:
        said = self.api.ask('POST', '/v1/moves', b'[' * 150_000)
        self.assertEqual(413, said.status)
        self.assertEqual('too_large', said.body['error']['code'])
        said = self._chunked(b'[' * 150_000)
        self.assertEqual(413, said.status)
        self.assertEqual('too_large', said.body['error']['code'])

    def _chunked(self, data: bytes) -> api_process.Answer:
        connection = api_process.http.client.HTTPConnection(
            '127.0.0.1', self.api.port, timeout=api_process.TIMEOUT
        )
        self.addCleanup(connection.close)
        connection.request(
            'POST',
            '/v1/moves',
            iter([data]),
            {'Content-Type': 'application/json'},
            encode_chunked=True,
        )
        return api_process.Answer(connection.getresponse(), False)

    def test_says_nothing_of_the_server(self) -> None:
        for path in ('/', '/nothing'):
            headers = self.api.ask('GET', path).headers
            self.assertNotIn('waitress', str(headers).lower())
