"""Pages, versions and unexpected answers."""

from __future__ import annotations

import threading
import time
from unittest import mock

import testtools

from ironic_ownership.clients.ironic import client
from ironic_ownership.contracts import exceptions, model
from tests.unit.clients import recorded_http

EVERYTHING = model.Scope()


class PlayedTestCase(testtools.TestCase):
    def play(self, *args, **kwargs):
        ironic = recorded_http.PlayedIronic(*args, **kwargs)
        self.addCleanup(ironic.stop)
        return ironic

    def refused(self, kind, call, *args):
        error = self.assertRaises(kind, call, *args)
        self.assertIs(kind, type(error))
        self.assertNotIn('\n', str(error))
        return error


class WalkTest(PlayedTestCase):
    def test_list_of_any_length_is_read_to_its_end(self):
        for count in (0, 1, 6, 7, 8, 13, 14, 15):
            ironic = self.play(count)
            nodes = recorded_http.open_ironic(ironic.url, page_size=7).scan(
                EVERYTHING
            )
            self.assertEqual(
                [recorded_http.uuid(i) for i in range(count)],
                [n.uuid for n in nodes],
            )

    def test_server_that_gives_smaller_pages_gives_the_whole_list(self):
        ironic = self.play(10, max_limit=3)
        bare_metal = recorded_http.open_ironic(ironic.url, page_size=7)
        self.assertEqual(10, len(bare_metal.scan(EVERYTHING)))

    def test_deleted_marker_begins_again(self):
        ironic = self.play(10)

        def delete():
            marker = ironic.requests[-1][1]['marker'][0]
            ironic.nodes.remove({'uuid': marker})
            return ironic.list(ironic.requests[-1][1])

        ironic.lists[2] = delete
        bare_metal = recorded_http.open_ironic(ironic.url, page_size=4)
        self.assertEqual(9, len(bare_metal.scan(EVERYTHING)))

    def test_node_that_comes_twice_begins_again(self):
        ironic = self.play(10)
        ironic.lists[2] = lambda: ironic.list({'limit': ['4']})
        bare_metal = recorded_http.open_ironic(ironic.url, page_size=4)
        self.assertEqual(10, len(bare_metal.scan(EVERYTHING)))
        self.assertEqual(
            2 + 3, sum(path == '/v1/nodes' for path, _ in ironic.requests)
        )

    def test_server_that_ignores_the_marker_is_given_up(self):
        ironic = self.play(10)
        for number in range(1, 100):
            ironic.lists[number] = lambda: ironic.list({'limit': ['4']})
        bare_metal = recorded_http.open_ironic(ironic.url, page_size=4)
        self.refused(
            exceptions.IronicUnavailableError, bare_metal.scan, EVERYTHING
        )
        self.assertEqual(1 + 2 * client.SCAN_ATTEMPTS, len(ironic.requests))

    def test_failing_second_page_gives_no_part_of_the_list(self):
        unavailable = exceptions.IronicUnavailableError
        for answer, kind in (
            (recorded_http.fault(500, 'boom'), unavailable),
            (recorded_http.fault(503, 'busy'), unavailable),
            (recorded_http.page('slow down', 429), unavailable),
            (recorded_http.page('<html>Bad Gateway', 502), unavailable),
            (
                recorded_http.page('<html>Not Found', 404),
                exceptions.IronicError,
            ),
            (recorded_http.fault(404, 'Not Found'), exceptions.IronicError),
            (recorded_http.fault(401, 'who?'), exceptions.IronicError),
            (recorded_http.fault(403, 'no'), exceptions.IronicError),
            (recorded_http.fault(400, 'what?'), exceptions.IronicError),
            (recorded_http.fault(406, 'version'), exceptions.IronicError),
            (
                recorded_http.page('{"nodes": [{"uuid": "0'),
                exceptions.IronicError,
            ),
            (recorded_http.page(''), exceptions.IronicError),
            (recorded_http.page('[]'), exceptions.IronicError),
            (recorded_http.page('{}'), exceptions.IronicError),
            (recorded_http.page('{"nodes": {}}'), exceptions.IronicError),
            (recorded_http.page('{"nodes": null}'), exceptions.IronicError),
            (
                recorded_http.page('{"nodes": [], "next": "x"}'),
                exceptions.IronicError,
            ),
            (recorded_http.page('[' * 100000), exceptions.IronicError),
            (recorded_http.page('<html>Sign in'), exceptions.IronicError),
        ):
            ironic = self.play(10)
            ironic.lists[2] = lambda answer=answer: answer
            bare_metal = recorded_http.open_ironic(ironic.url, page_size=4)
            self.refused(kind, bare_metal.scan, EVERYTHING)

    def test_body_that_breaks_off_is_an_outage(self):
        ironic = self.play(10)
        ironic.lists[2] = lambda: (
            200,
            {'Content-Length': '1000'},
            b'{"nodes": []}',
        )
        bare_metal = recorded_http.open_ironic(ironic.url, page_size=4)
        self.refused(
            exceptions.IronicUnavailableError, bare_metal.scan, EVERYTHING
        )

    def test_answer_that_is_too_slow_is_an_outage(self):
        ironic = self.play(10)

        over = threading.Event()
        self.addCleanup(over.set)

        def slow():
            over.wait(60)
            return ironic.list({'limit': ['4']})

        ironic.lists[2] = slow
        bare_metal = recorded_http.open_ironic(
            ironic.url, page_size=4, timeout=5
        )
        self.refused(
            exceptions.IronicUnavailableError, bare_metal.scan, EVERYTHING
        )
        # Asked once: two time-outs would block twice as long.
        self.assertEqual(3, len(ironic.requests))

    def test_connection_that_ends_is_tried_again_once(self):
        def hang_up():
            raise ConnectionError

        ironic = self.play(10)
        ironic.lists[2] = hang_up
        bare_metal = recorded_http.open_ironic(ironic.url, page_size=4)
        self.assertEqual(10, len(bare_metal.scan(EVERYTHING)))
        asked = len(ironic.requests)
        ironic.lists[asked] = ironic.lists[asked + 1] = hang_up
        self.refused(
            exceptions.IronicUnavailableError, bare_metal.scan, EVERYTHING
        )

    def test_retry_after_of_an_hour_is_not_waited_for(self):
        ironic = self.play(10)
        status, headers, body = recorded_http.fault(503, 'busy')
        busy = status, {**headers, 'Retry-After': '3600'}, body
        ironic.lists[1] = lambda: busy
        bare_metal = recorded_http.open_ironic(ironic.url)
        self.refused(
            exceptions.IronicUnavailableError, bare_metal.scan, EVERYTHING
        )

    def test_redirect_is_not_followed_because_it_loses_the_filters(self):
        ironic = self.play(10)
        ironic.lists[1] = lambda: (
            301,
            {'Location': f'{ironic.url}/v1/nodes/'},
            b'',
        )
        bare_metal = recorded_http.open_ironic(ironic.url)
        self.refused(
            exceptions.IronicError, bare_metal.scan, model.Scope(shard='a')
        )
        self.assertEqual(2, len(ironic.requests))

    def test_odd_nodes_do_not_stop_the_others(self):
        ironic = self.play(4)
        ironic.nodes += [None, [], {}, {'uuid': None}, {'uuid': 'x'}, 7]
        ironic.nodes += [{'uuid': recorded_http.uuid(9), 'properties': None}]
        for size in (7, 11, 1000):
            bare_metal = recorded_http.open_ironic(ironic.url, page_size=size)
            self.assertEqual(5, len(bare_metal.scan(EVERYTHING)))

    def test_page_without_any_uuid_is_no_end_of_the_list(self):
        ironic = self.play(3)
        ironic.nodes[1:1] = [None, None, None]
        bare_metal = recorded_http.open_ironic(ironic.url, page_size=2)
        self.refused(exceptions.IronicError, bare_metal.scan, EVERYTHING)

    def test_nodes_outside_of_the_scope_are_dropped(self):
        ironic = self.play()
        ironic.nodes = [
            {
                'uuid': recorded_http.uuid(1),
                'shard': 'a',
                'conductor_group': 'G',
            },
            {
                'uuid': recorded_http.uuid(2),
                'shard': 'A',
                'conductor_group': 'g',
            },
            {
                'uuid': recorded_http.uuid(3),
                'shard': None,
                'conductor_group': 'g',
            },
            {
                'uuid': recorded_http.uuid(4),
                'shard': 'a',
                'conductor_group': '',
            },
        ]
        bare_metal = recorded_http.open_ironic(ironic.url)
        for scope, numbers in (
            (model.Scope(shard='a'), (1, 4)),
            (model.Scope(shard='a', conductor_group='G'), (1,)),
            (model.Scope(conductor_group='g'), (1, 2, 3)),
            (model.Scope(conductor_group=''), (4,)),
            (model.Scope(nothing=True), ()),
        ):
            self.assertEqual(
                [recorded_http.uuid(n) for n in numbers],
                [node.uuid for node in bare_metal.scan(scope)],
            )

    def test_scope_of_nothing_sends_nothing(self):
        bare_metal = recorded_http.open_ironic('http://127.0.0.1:1')
        self.assertEqual([], bare_metal.scan(model.Scope(nothing=True)))


class VersionTest(PlayedTestCase):
    def test_server_that_is_too_old_is_refused_with_both_versions(self):
        ironic = self.play(3, maximum='1.81')
        bare_metal = recorded_http.open_ironic(ironic.url)
        for call in (
            bare_metal.check,
            bare_metal.shard_counts,
            bare_metal.conductors,
            lambda: bare_metal.scan(EVERYTHING),
            lambda: bare_metal.get(recorded_http.uuid(1)),
        ):
            error = self.refused(exceptions.IronicTooOldError, call)
            for words in ('1.81 at most', '1.82 is required', '2023.1'):
                self.assertIn(words, str(error))
        self.assertEqual({'/'}, {path for path, _ in ironic.requests})

    def test_oldest_server_gives_all_that_is_read(self):
        ironic = self.play(1, maximum='1.82')
        bare_metal = recorded_http.open_ironic(ironic.url)
        bare_metal.check()
        bare_metal.scan(model.Scope(shard='a', conductor_group='g'))
        fields = ironic.requests[-1][1]['fields'][0].split(',')
        self.assertLessEqual(
            {'shard', 'retired', 'conductor_group'}, {*fields}
        )
        bare_metal.free(EVERYTHING, resource_class='gold')
        wanted = {
            'associated': ['false'],
            'maintenance': ['false'],
            'provision_state': ['available'],
            'retired': ['false'],
            'resource_class': ['gold'],
        }
        self.assertLessEqual(wanted.items(), ironic.requests[-1][1].items())

    def test_no_page_is_asked_for_once_there_are_enough_free_nodes(self):
        ironic = self.play(7)
        bare_metal = recorded_http.open_ironic(ironic.url, page_size=2)
        found = bare_metal.free(EVERYTHING, enough=3)
        self.assertEqual(4, len(found))
        pages = [path for path, _ in ironic.requests if 'nodes' in path]
        self.assertEqual(2, len(pages))

    def test_field_on_request_is_asked_for_only_on_request(self):
        for on_request in ((), ('extra',)):
            ironic = self.play(1)
            recorded_http.open_ironic(ironic.url, on_request=on_request).scan(
                EVERYTHING
            )
            fields = ironic.requests[-1][1]['fields'][0].split(',')
            self.assertEqual(bool(on_request), 'extra' in fields)

    def test_changes_are_not_read_once_other_fields_are_requested(self):
        requested = []
        bare_metal = recorded_http.open_ironic(
            self.play(1).url, on_request=requested
        )
        bare_metal.scan(EVERYTHING)
        requested.append('owner')
        for read in (bare_metal.latest_changes, bare_metal.newest):
            self.refused(exceptions.IronicError, read, EVERYTHING, 20)

    def test_any_field_is_read_if_a_policy_requests_it(self):
        ironic = self.play(1)
        requested = ['owner', 'driver_info.ipmi_address', 'instance_name']
        bare_metal = recorded_http.open_ironic(
            ironic.url, on_request=requested
        )
        (node,) = bare_metal.scan(EVERYTHING)
        fields = ironic.requests[-1][1]['fields'][0].split(',')
        wanted = {'owner', 'driver_info', 'instance_name'}
        self.assertLessEqual(wanted, {*fields})
        self.assertEqual(dict.fromkeys(requested), node.fields)
        # Not among the fields of a list: Ironic gives it with all others.
        requested.append('chassis_uuid')
        bare_metal.scan(EVERYTHING)
        query = ironic.requests[-1][1]
        self.assertEqual(['true'], query['detail'])
        self.assertNotIn('fields', query)

    def test_versions_are_asked_for_again_after_a_406(self):
        ironic = self.play(3)
        bare_metal = recorded_http.open_ironic(ironic.url)
        scope = model.Scope(shard='a')
        bare_metal.scan(scope)
        ironic.versions = '1.1', '1.50'
        ironic.lists[2] = lambda: recorded_http.fault(406, 'downgraded')
        self.refused(exceptions.IronicError, bare_metal.scan, scope)
        self.refused(exceptions.IronicTooOldError, bare_metal.scan, scope)

    def test_server_that_was_too_old_may_have_been_upgraded(self):
        ironic = self.play(3, maximum='1.81')
        bare_metal = recorded_http.open_ironic(ironic.url)
        scope = model.Scope(shard='a')
        self.refused(exceptions.IronicTooOldError, bare_metal.scan, scope)
        ironic.versions = '1.1', '1.82'
        bare_metal.scan(scope)

    def test_another_server_is_refused_and_the_option_named(self):
        for answer in (
            recorded_http.page('<html>Welcome'),
            recorded_http.page('{}'),
            recorded_http.page('{"versions": {"values": [{"id": "v3"}]}}'),
            recorded_http.page('{"default_version": {"id": "v1"}}'),
            recorded_http.page('<html>Not Found', 404),
            recorded_http.page('', 301),
        ):
            ironic = self.play()
            ironic.everything = lambda answer=answer: answer
            bare_metal = recorded_http.open_ironic(ironic.url)
            for call, *arguments in (
                (bare_metal.check,),
                (bare_metal.scan, EVERYTHING),
                (bare_metal.get, recorded_http.uuid(1)),
            ):
                error = self.refused(exceptions.IronicError, call, *arguments)
                self.assertIn('[ironic] endpoint_override', error.hint)


class LookupTest(PlayedTestCase):
    def test_only_ironics_own_404_about_the_node_means_gone(self):
        ironic = self.play(1)
        bare_metal = recorded_http.open_ironic(ironic.url)
        self.assertIsNotNone(bare_metal.get(recorded_http.uuid(0)))
        gone = recorded_http.uuid(5)
        self.assertIsNone(bare_metal.get(gone))
        text = f'Node {gone} could not be found.'
        status, _, body = recorded_http.fault(404, text)
        for answer in (
            recorded_http.page('<html>Not Found', 404),
            recorded_http.page(f'<html>{text}', 404),
            recorded_http.page('', 404),
            (status, {}, body),
            recorded_http.fault(404, 'Not Found'),
            recorded_http.fault(
                404, f'Node {recorded_http.uuid(6)} could not be found.'
            ),
            recorded_http.fault(410, text),
            recorded_http.fault(403, text),
        ):
            ironic.everything = lambda answer=answer: answer
            self.refused(exceptions.IronicError, bare_metal.get, gone)
        ironic.everything = lambda: recorded_http.fault(500, text)
        self.refused(exceptions.IronicUnavailableError, bare_metal.get, gone)

    def test_fault_as_an_object_is_understood(self):
        ironic = self.play()
        bare_metal = recorded_http.open_ironic(ironic.url)
        bare_metal.check()
        text = b'{"error_message": {"faultstring": "Node %s is not here"}}'
        ironic.everything = lambda: (
            404,
            {'x-openstack-ironic-api-version': '1.82'},
            text % recorded_http.uuid(1).encode(),
        )
        self.assertIsNone(bare_metal.get(recorded_http.uuid(1)))

    def test_another_node_or_a_list_is_not_the_answer(self):
        ironic = self.play(1)
        bare_metal = recorded_http.open_ironic(ironic.url)
        bare_metal.check()
        for body in (
            f'{{"uuid": "{recorded_http.uuid(2)}"}}',
            '{"nodes": []}',
            '[]',
        ):
            ironic.everything = lambda body=body: recorded_http.page(body)
            self.refused(
                exceptions.IronicError, bare_metal.get, recorded_http.uuid(0)
            )

    def test_malformed_uuid_is_not_requested(self):
        ironic = self.play(1)
        bare_metal = recorded_http.open_ironic(ironic.url)
        for name in (
            '',
            '/',
            'node-1',
            '../chassis',
            recorded_http.uuid(1) + '/x',
        ):
            self.refused(exceptions.IronicError, bare_metal.get, name)
        self.assertEqual([], ironic.requests)


class CountTest(PlayedTestCase):
    def test_counts_that_make_no_sense_are_an_error(self):
        ironic = self.play()
        bare_metal = recorded_http.open_ironic(ironic.url)
        bare_metal.check()
        for body in (
            '{}',
            '{"shards": 7}',
            '{"shards": [7]}',
            '{"shards": [{"name": "a"}]}',
            '{"shards": [{"name": "a", "count": "x"}]}',
        ):
            ironic.everything = lambda body=body: recorded_http.page(body)
            self.refused(exceptions.IronicError, bare_metal.shard_counts)


class ClockTest(PlayedTestCase):
    def test_request_waits_for_no_clock_that_was_set_back(self):
        ironic = self.play(3)
        bare_metal = recorded_http.open_ironic(ironic.url)
        self.assertEqual(3, len(bare_metal.scan(EVERYTHING)))
        now = time.time()
        with (
            mock.patch('time.time', lambda: now - 3600),
            mock.patch('time.sleep', side_effect=AssertionError),
        ):
            self.assertEqual(3, len(bare_metal.scan(EVERYTHING)))
