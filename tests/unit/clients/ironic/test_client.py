"""Pages, versions and unexpected answers."""

from __future__ import annotations

import threading
import time
from unittest import mock

import testtools

from ironic_ownership.clients.ironic import client
from ironic_ownership.contracts import model
from ironic_ownership.contracts.exceptions import (
    IronicError,
    IronicTooOldError,
    IronicUnavailableError,
)
from tests.unit.clients.recorded_http import (
    PlayedIronic,
    fault,
    open_ironic,
    page,
    uuid,
)

EVERYTHING = model.Scope()


class PlayedTestCase(testtools.TestCase):
    def play(self, count=0, *, server=None, **options):
        ironic = PlayedIronic(count, **(server or {}))
        self.addCleanup(ironic.stop)
        return ironic, open_ironic(ironic.url, **options)

    def refused(self, kind, call, *args):
        error = self.assertRaises(kind, call, *args)
        self.assertIs(kind, type(error))
        self.assertNotIn('\n', str(error))
        return error

    def refused_scan(self, bare_metal, kind=IronicUnavailableError):
        return self.refused(kind, bare_metal.scan, EVERYTHING)


class WalkTest(PlayedTestCase):
    def test_list_of_any_length_is_read_to_its_end(self):
        for count in (0, 1, 6, 7, 8, 13, 14, 15):
            _, bare_metal = self.play(count, page_size=7)
            self.assertEqual(
                [uuid(i) for i in range(count)],
                [n.uuid for n in bare_metal.scan(EVERYTHING)],
            )

    def test_server_that_gives_smaller_pages_gives_the_whole_list(self):
        _, bare_metal = self.play(10, server={'max_limit': 3}, page_size=7)
        self.assertEqual(10, len(bare_metal.scan(EVERYTHING)))

    def test_deleted_marker_begins_again(self):
        ironic, bare_metal = self.play(10, page_size=4)

        def delete():
            marker = ironic.requests[-1][1]['marker'][0]
            ironic.nodes.remove({'uuid': marker})
            return ironic.list(ironic.requests[-1][1])

        ironic.lists[2] = delete
        self.assertEqual(9, len(bare_metal.scan(EVERYTHING)))

    def test_node_that_comes_twice_begins_again(self):
        ironic, bare_metal = self.play(10, page_size=4)
        ironic.lists[2] = lambda: ironic.list({'limit': ['4']})
        self.assertEqual(10, len(bare_metal.scan(EVERYTHING)))
        self.assertEqual(
            2 + 3, sum(path == '/v1/nodes' for path, _ in ironic.requests)
        )

    def test_server_that_ignores_the_marker_is_given_up(self):
        ironic, bare_metal = self.play(10, page_size=4)
        for number in range(1, 100):
            ironic.lists[number] = lambda: ironic.list({'limit': ['4']})
        self.refused_scan(bare_metal)
        self.assertEqual(1 + 2 * client.SCAN_ATTEMPTS, len(ironic.requests))

    def test_failing_second_page_gives_no_part_of_the_list(self):
        for answer, kind in (
            (fault(500, 'boom'), IronicUnavailableError),
            (fault(503, 'busy'), IronicUnavailableError),
            (page('slow down', 429), IronicUnavailableError),
            (page('<html>Bad Gateway', 502), IronicUnavailableError),
            (page('<html>Not Found', 404), IronicError),
            (fault(404, 'Not Found'), IronicError),
            (fault(401, 'who?'), IronicError),
            (fault(403, 'no'), IronicError),
            (fault(400, 'what?'), IronicError),
            (fault(406, 'version'), IronicError),
            (page('{"nodes": [{"uuid": "0'), IronicError),
            (page(''), IronicError),
            (page('[]'), IronicError),
            (page('{}'), IronicError),
            (page('{"nodes": {}}'), IronicError),
            (page('{"nodes": null}'), IronicError),
            (page('{"nodes": [], "next": "x"}'), IronicError),
            (page('[' * 100000), IronicError),
            (page('<html>Sign in'), IronicError),
        ):
            ironic, bare_metal = self.play(10, page_size=4)
            ironic.lists[2] = lambda answer=answer: answer
            self.refused_scan(bare_metal, kind)

    def test_body_that_breaks_off_is_an_outage(self):
        ironic, bare_metal = self.play(10, page_size=4)
        ironic.lists[2] = lambda: (
            200,
            {'Content-Length': '1000'},
            b'{"nodes": []}',
        )
        self.refused_scan(bare_metal)

    def test_answer_that_is_too_slow_is_an_outage(self):
        ironic, bare_metal = self.play(10, page_size=4, timeout=5)

        over = threading.Event()
        self.addCleanup(over.set)

        def slow():
            over.wait(60)
            return ironic.list({'limit': ['4']})

        ironic.lists[2] = slow
        self.refused_scan(bare_metal)
        # Asked once: two time-outs would block twice as long.
        self.assertEqual(3, len(ironic.requests))

    def test_connection_that_ends_is_tried_again_once(self):
        def hang_up():
            raise ConnectionError

        ironic, bare_metal = self.play(10, page_size=4)
        ironic.lists[2] = hang_up
        self.assertEqual(10, len(bare_metal.scan(EVERYTHING)))
        asked = len(ironic.requests)
        ironic.lists[asked] = ironic.lists[asked + 1] = hang_up
        self.refused_scan(bare_metal)

    def test_retry_after_of_an_hour_is_not_waited_for(self):
        ironic, bare_metal = self.play(10)
        status, headers, body = fault(503, 'busy')
        busy = status, {**headers, 'Retry-After': '3600'}, body
        ironic.lists[1] = lambda: busy
        self.refused_scan(bare_metal)

    def test_redirect_is_not_followed_because_it_loses_the_filters(self):
        ironic, bare_metal = self.play(10)
        ironic.lists[1] = lambda: (
            301,
            {'Location': f'{ironic.url}/v1/nodes/'},
            b'',
        )
        self.refused(IronicError, bare_metal.scan, model.Scope(shard='a'))
        self.assertEqual(2, len(ironic.requests))

    def test_odd_nodes_do_not_stop_the_others(self):
        ironic, _ = self.play(4)
        ironic.nodes += [None, [], {}, {'uuid': None}, {'uuid': 'x'}, 7]
        ironic.nodes += [{'uuid': uuid(9), 'properties': None}]
        for size in (7, 11, 1000):
            bare_metal = open_ironic(ironic.url, page_size=size)
            self.assertEqual(5, len(bare_metal.scan(EVERYTHING)))

    def test_page_without_any_uuid_is_no_end_of_the_list(self):
        ironic, bare_metal = self.play(3, page_size=2)
        ironic.nodes[1:1] = [None, None, None]
        self.refused_scan(bare_metal, IronicError)

    def test_nodes_outside_of_the_scope_are_dropped(self):
        ironic, bare_metal = self.play()
        ironic.nodes = [
            {'uuid': uuid(1), 'shard': 'a', 'conductor_group': 'G'},
            {'uuid': uuid(2), 'shard': 'A', 'conductor_group': 'g'},
            {'uuid': uuid(3), 'shard': None, 'conductor_group': 'g'},
            {'uuid': uuid(4), 'shard': 'a', 'conductor_group': ''},
        ]
        for scope, numbers in (
            (model.Scope(shard='a'), (1, 4)),
            (model.Scope(shard='a', conductor_group='G'), (1,)),
            (model.Scope(conductor_group='g'), (1, 2, 3)),
            (model.Scope(conductor_group=''), (4,)),
            (model.Scope(nothing=True), ()),
        ):
            self.assertEqual(
                [uuid(n) for n in numbers],
                [node.uuid for node in bare_metal.scan(scope)],
            )

    def test_scope_of_nothing_sends_nothing(self):
        bare_metal = open_ironic('http://127.0.0.1:1')
        self.assertEqual([], bare_metal.scan(model.Scope(nothing=True)))


class VersionTest(PlayedTestCase):
    def test_server_that_is_too_old_is_refused_with_both_versions(self):
        ironic, bare_metal = self.play(3, server={'maximum': '1.81'})
        for call in (
            bare_metal.check,
            bare_metal.shard_counts,
            bare_metal.conductors,
            lambda: bare_metal.scan(EVERYTHING),
            lambda: bare_metal.get(uuid(1)),
        ):
            error = self.refused(IronicTooOldError, call)
            for words in ('1.81 at most', '1.82 is required', '2023.1'):
                self.assertIn(words, str(error))
        self.assertEqual({'/'}, {path for path, _ in ironic.requests})

    def test_oldest_server_gives_all_that_is_read(self):
        ironic, bare_metal = self.play(1, server={'maximum': '1.82'})
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
        ironic, bare_metal = self.play(7, page_size=2)
        found = bare_metal.free(EVERYTHING, enough=3)
        self.assertEqual(4, len(found))
        pages = [path for path, _ in ironic.requests if 'nodes' in path]
        self.assertEqual(2, len(pages))

    def test_field_on_request_is_asked_for_only_on_request(self):
        for on_request in ((), ('extra',)):
            ironic, bare_metal = self.play(1, on_request=on_request)
            bare_metal.scan(EVERYTHING)
            fields = ironic.requests[-1][1]['fields'][0].split(',')
            self.assertEqual(bool(on_request), 'extra' in fields)

    def test_changes_are_not_read_once_other_fields_are_requested(self):
        requested = []
        _, bare_metal = self.play(1, on_request=requested)
        bare_metal.scan(EVERYTHING)
        requested.append('owner')
        for read in (bare_metal.latest_changes, bare_metal.newest):
            self.refused(IronicError, read, EVERYTHING, 20)
        self.refused(
            IronicError, bare_metal.changed_after, EVERYTHING, uuid(0), 20
        )

    def test_changes_of_what_is_no_node_are_an_error(self):
        ironic, bare_metal = self.play(1)
        bare_metal.check()
        ironic.everything = lambda: page('{"nodes": ["gone"]}')
        self.refused(IronicError, bare_metal.latest_changes, EVERYTHING, 20)
        self.refused(
            IronicError, bare_metal.changed_after, EVERYTHING, uuid(0), 20
        )

    def test_any_field_is_read_if_a_policy_requests_it(self):
        requested = ['owner', 'driver_info.ipmi_address', 'instance_name']
        ironic, bare_metal = self.play(1, on_request=requested)
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
        ironic, bare_metal = self.play(3)
        scope = model.Scope(shard='a')
        bare_metal.scan(scope)
        ironic.versions = '1.1', '1.50'
        ironic.lists[2] = lambda: fault(406, 'downgraded')
        self.refused(IronicError, bare_metal.scan, scope)
        self.refused(IronicTooOldError, bare_metal.scan, scope)

    def test_server_that_was_too_old_may_have_been_upgraded(self):
        ironic, bare_metal = self.play(3, server={'maximum': '1.81'})
        scope = model.Scope(shard='a')
        self.refused(IronicTooOldError, bare_metal.scan, scope)
        ironic.versions = '1.1', '1.82'
        bare_metal.scan(scope)

    def test_another_server_is_refused_and_the_option_named(self):
        for answer in (
            page('<html>Welcome'),
            page('{}'),
            page('{"versions": {"values": [{"id": "v3"}]}}'),
            page('{"default_version": {"id": "v1"}}'),
            page('<html>Not Found', 404),
            page('', 301),
        ):
            ironic, bare_metal = self.play()
            ironic.everything = lambda answer=answer: answer
            for call, *arguments in (
                (bare_metal.check,),
                (bare_metal.scan, EVERYTHING),
                (bare_metal.get, uuid(1)),
            ):
                error = self.refused(IronicError, call, *arguments)
                self.assertIn('[ironic] endpoint_override', error.hint)


class LookupTest(PlayedTestCase):
    def test_only_ironics_own_404_about_the_node_means_gone(self):
        ironic, bare_metal = self.play(1)
        self.assertIsNotNone(bare_metal.get(uuid(0)))
        gone = uuid(5)
        self.assertIsNone(bare_metal.get(gone))
        text = f'Node {gone} could not be found.'
        status, _, body = fault(404, text)
        for answer in (
            page('<html>Not Found', 404),
            page(f'<html>{text}', 404),
            page('', 404),
            (status, {}, body),
            fault(404, 'Not Found'),
            fault(404, f'Node {uuid(6)} could not be found.'),
            fault(410, text),
            fault(403, text),
        ):
            ironic.everything = lambda answer=answer: answer
            self.refused(IronicError, bare_metal.get, gone)
        ironic.everything = lambda: fault(500, text)
        self.refused(IronicUnavailableError, bare_metal.get, gone)

    def test_fault_as_an_object_is_understood(self):
        ironic, bare_metal = self.play()
        bare_metal.check()
        text = b'{"error_message": {"faultstring": "Node %s is not here"}}'
        ironic.everything = lambda: (
            404,
            {'x-openstack-ironic-api-version': '1.82'},
            text % uuid(1).encode(),
        )
        self.assertIsNone(bare_metal.get(uuid(1)))

    def test_another_node_or_a_list_is_not_the_answer(self):
        ironic, bare_metal = self.play(1)
        bare_metal.check()
        for body in (f'{{"uuid": "{uuid(2)}"}}', '{"nodes": []}', '[]'):
            ironic.everything = lambda body=body: page(body)
            self.refused(IronicError, bare_metal.get, uuid(0))

    def test_malformed_uuid_is_not_requested(self):
        ironic, bare_metal = self.play(1)
        for name in ('', '/', 'node-1', '../chassis', uuid(1) + '/x'):
            self.refused(IronicError, bare_metal.get, name)
        self.assertEqual([], ironic.requests)


class CountTest(PlayedTestCase):
    def test_counts_that_make_no_sense_are_an_error(self):
        ironic, bare_metal = self.play()
        bare_metal.check()
        for body in (
            '{}',
            '{"shards": 7}',
            '{"shards": [7]}',
            '{"shards": [{"name": "a"}]}',
            '{"shards": [{"name": "a", "count": "x"}]}',
        ):
            ironic.everything = lambda body=body: page(body)
            self.refused(IronicError, bare_metal.shard_counts)


class ClockTest(PlayedTestCase):
    def test_request_waits_for_no_clock_that_was_set_back(self):
        _, bare_metal = self.play(3)
        self.assertEqual(3, len(bare_metal.scan(EVERYTHING)))
        now = time.time()
        with (
            mock.patch('time.time', lambda: now - 3600),
            mock.patch('time.sleep', side_effect=AssertionError),
        ):
            self.assertEqual(3, len(bare_metal.scan(EVERYTHING)))
