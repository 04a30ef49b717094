"""Pages, versions and unexpected answers."""

from __future__ import annotations

import threading
import time
from unittest import mock

import testtools

from ironic_ownership.clients.ironic import client
from ironic_ownership.contracts.exceptions import (
    IronicError,
    IronicTooOldError,
    IronicUnavailableError,
)
from ironic_ownership.contracts.model import Scope
from tests.unit.clients.recorded_http import (
    PlayedIronic,
    fault,
    open_ironic,
    page,
    uuid,
)

EVERYTHING = Scope()


class PlayedTestCase(testtools.TestCase):
    def play(self, count=0, *, server=None, **options):
        self.ironic = PlayedIronic(count, **(server or {}))
        self.addCleanup(self.ironic.stop)
        self.client = open_ironic(self.ironic.url, **options)

    def refused(self, kind, call, *args):
        error = self.assertRaises(kind, call, *args)
        self.assertIs(kind, type(error))
        self.assertNotIn('\n', str(error))
        return error

    def refused_scan(self, kind=IronicUnavailableError, scope=EVERYTHING):
        return self.refused(kind, self.client.scan, scope)

    def answer(self, answer):
        """Give this answer to every request."""
        self.ironic.everything = lambda: answer

    def asked_fields(self):
        """Return the fields of the last list."""
        return {*self.ironic.requests[-1][1]['fields'][0].split(',')}


class WalkTest(PlayedTestCase):
    def test_list_of_any_length_is_read_to_its_end(self):
        for count in (0, 1, 6, 7, 8, 13, 14, 15):
            for max_limit in (1000, 3):
                self.play(count, server={'max_limit': max_limit}, page_size=7)
                self.assertEqual(
                    [uuid(i) for i in range(count)],
                    [n.uuid for n in self.client.scan(EVERYTHING)],
                )

    def test_deleted_marker_begins_again(self):
        self.play(10, page_size=4)

        def delete():
            marker = self.ironic.requests[-1][1]['marker'][0]
            self.ironic.nodes.remove({'uuid': marker})
            return self.ironic.list(self.ironic.requests[-1][1])

        self.ironic.lists[2] = delete
        self.assertEqual(9, len(self.client.scan(EVERYTHING)))

    def test_node_that_comes_twice_begins_again(self):
        self.play(10, page_size=4)
        first_page = {'limit': ['4']}
        self.ironic.lists[2] = lambda: self.ironic.list(first_page)
        self.assertEqual(10, len(self.client.scan(EVERYTHING)))
        self.assertEqual(1 + 2 + 3, len(self.ironic.requests))
        # A server that ignores the marker is given up.
        self.play(10, page_size=4)
        for number in range(1, 100):
            self.ironic.lists[number] = lambda: self.ironic.list(first_page)
        self.refused_scan()
        self.assertEqual(
            1 + 2 * client.SCAN_ATTEMPTS, len(self.ironic.requests)
        )

    def test_failing_second_page_gives_no_part_of_the_list(self):
        busy = fault(503, 'busy')
        for answer, kind in (
            (fault(500, 'boom'), IronicUnavailableError),
            (busy, IronicUnavailableError),
            # An hour is not waited for.
            (
                (503, {**busy[1], 'Retry-After': '3600'}, busy[2]),
                IronicUnavailableError,
            ),
            (page('slow down', 429), IronicUnavailableError),
            (page('<html>Bad Gateway', 502), IronicUnavailableError),
            # The body breaks off.
            (
                (200, {'Content-Length': '1000'}, b'{"nodes": []}'),
                IronicUnavailableError,
            ),
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
            (page('{"nodes": [null], "next": "x"}'), IronicError),
            (page('[' * 100000), IronicError),
            (page('<html>Sign in'), IronicError),
        ):
            self.play(10, page_size=4)
            self.ironic.lists[2] = lambda answer=answer: answer
            self.refused_scan(kind)

    def test_redirect_is_not_followed_because_it_loses_the_filters(self):
        self.play(10)
        location = {'Location': f'{self.ironic.url}/v1/nodes/'}
        self.ironic.lists[1] = lambda: (301, location, b'')
        self.refused_scan(IronicError, Scope(shard='a'))
        self.assertEqual(2, len(self.ironic.requests))

    def test_answer_that_is_too_slow_is_an_outage(self):
        self.play(10, page_size=4, timeout=5)
        over = threading.Event()
        self.addCleanup(over.set)

        def slow():
            over.wait(60)
            return self.ironic.list({'limit': ['4']})

        self.ironic.lists[2] = slow
        self.refused_scan()
        # Asked once: two time-outs would block twice as long.
        self.assertEqual(3, len(self.ironic.requests))

    def test_body_that_stalls_is_not_asked_for_again(self):
        self.play(timeout=0.2)
        over = threading.Event()
        self.addCleanup(over.set)
        self.ironic.linger = lambda: over.wait(60)
        self.answer((200, {'Content-Length': '1000'}, b'{"nodes": []}'))
        self.refused_scan()
        self.assertEqual(1, len(self.ironic.requests))

    def test_connection_that_ends_is_tried_again_once(self):
        def hang_up():
            raise ConnectionError

        self.play(10, page_size=4)
        self.ironic.lists[2] = hang_up
        self.assertEqual(10, len(self.client.scan(EVERYTHING)))
        asked = len(self.ironic.requests)
        self.ironic.lists.update(dict.fromkeys((asked, asked + 1), hang_up))
        self.refused_scan()

    def test_odd_nodes_do_not_stop_the_others(self):
        self.play(4)
        self.ironic.nodes += [None, [], {}, {'uuid': None}, {'uuid': 'x'}, 7]
        self.ironic.nodes += [{'uuid': uuid(9), 'properties': None}]
        for size in (7, 11, 1000):
            self.client = open_ironic(self.ironic.url, page_size=size)
            self.assertEqual(5, len(self.client.scan(EVERYTHING)))
        # A page without any uuid is no end of the list.
        self.play(3, page_size=2)
        self.ironic.nodes[1:1] = [None, None, None]
        self.refused_scan(IronicError)

    def test_nodes_outside_of_the_scope_are_dropped(self):
        self.play()
        self.ironic.nodes = [
            {'uuid': uuid(1), 'shard': 'a', 'conductor_group': 'G'},
            {'uuid': uuid(2), 'shard': 'A', 'conductor_group': 'g'},
            {'uuid': uuid(3), 'shard': None, 'conductor_group': 'g'},
            {'uuid': uuid(4), 'shard': 'a', 'conductor_group': ''},
        ]
        for scope, numbers in (
            (Scope(shard='a'), (1, 4)),
            (Scope(shard='a', conductor_group='g'), (1,)),
            (Scope(conductor_group='g'), (1, 2, 3)),
            (Scope(conductor_group=''), (4,)),
        ):
            found = [node.uuid for node in self.client.scan(scope)]
            self.assertEqual([uuid(n) for n in numbers], found)
        asked = len(self.ironic.requests)
        self.assertEqual([], self.client.scan(Scope(nothing=True)))
        self.assertEqual(asked, len(self.ironic.requests))

    def test_no_page_is_asked_for_once_there_are_enough_free_nodes(self):
        self.play(7, page_size=2)
        found = self.client.free(EVERYTHING, enough=3)
        self.assertEqual(4, len(found))
        self.assertEqual(1 + 2, len(self.ironic.requests))

    def test_request_waits_for_no_clock_that_was_set_back(self):
        self.play(3)
        self.assertEqual(3, len(self.client.scan(EVERYTHING)))
        now = time.time()
        with (
            mock.patch('time.time', lambda: now - 3600),
            mock.patch('time.sleep', side_effect=AssertionError),
        ):
            self.assertEqual(3, len(self.client.scan(EVERYTHING)))


class FieldsTest(PlayedTestCase):
    def test_oldest_server_gives_all_that_is_read(self):
        self.play(1, server={'maximum': '1.82'})
        self.client.check()
        self.client.scan(Scope(shard='a', conductor_group='g'))
        self.assertLessEqual(
            {'shard', 'retired', 'conductor_group'}, self.asked_fields()
        )
        self.client.free(EVERYTHING, resource_class='gold')
        wanted = {
            'associated': ['false'],
            'maintenance': ['false'],
            'provision_state': ['available'],
            'retired': ['false'],
            'resource_class': ['gold'],
        }
        query = self.ironic.requests[-1][1]
        self.assertLessEqual(wanted.items(), query.items())

    def test_field_on_request_is_asked_for_only_on_request(self):
        requested = []
        self.play(1, on_request=requested)
        self.client.scan(EVERYTHING)
        self.assertNotIn('extra', self.asked_fields())
        wanted = ['extra', 'owner', 'driver_info.ipmi_address']
        requested += wanted
        # Changes are not read once other fields are requested.
        for read, *values in (
            (self.client.latest_changes, EVERYTHING, 20),
            (self.client.newest, EVERYTHING, 20),
            (self.client.changed_after, EVERYTHING, uuid(0), 20),
        ):
            self.refused(IronicError, read, *values)
        (node,) = self.client.scan(EVERYTHING)
        self.assertLessEqual(
            {'extra', 'owner', 'driver_info'}, self.asked_fields()
        )
        self.assertEqual(dict.fromkeys(wanted[1:]), node.fields)
        # Not among the fields of a list: Ironic gives it with all others.
        requested.append('chassis_uuid')
        self.client.scan(EVERYTHING)
        query = self.ironic.requests[-1][1]
        self.assertEqual(['true'], query['detail'])
        self.assertNotIn('fields', query)


class VersionTest(PlayedTestCase):
    def test_server_that_is_too_old_is_refused_with_both_versions(self):
        self.play(3, server={'maximum': '1.81'})
        for call, *values in (
            (self.client.check,),
            (self.client.shard_counts,),
            (self.client.conductors,),
            (self.client.scan, EVERYTHING),
            (self.client.get, uuid(1)),
        ):
            error = self.refused(IronicTooOldError, call, *values)
            for words in ('1.81 at most', '1.82 is required', '2023.1'):
                self.assertIn(words, str(error))
        self.assertEqual({'/'}, {path for path, _ in self.ironic.requests})
        # It may be upgraded, and go back.
        self.ironic.versions = '1.1', '1.82'
        self.client.scan(EVERYTHING)
        self.ironic.versions = '1.1', '1.50'
        self.ironic.lists[2] = lambda: fault(406, 'downgraded')
        self.refused_scan(IronicError)
        self.refused_scan(IronicTooOldError)

    def test_another_server_is_refused_and_the_option_named(self):
        for answer in (
            page('<html>Welcome'),
            page('{}'),
            page('{"versions": {"values": [{"id": "v3"}]}}'),
            page(
                '{"default_version": {"id": "v1", "min_version": "1.1", '
                f'"version": "1.{"9" * 5000}"}}}}'
            ),
            page('{"default_version": {"id": "v1"}}'),
            page('<html>Not Found', 404),
            page('', 301),
        ):
            self.play()
            self.answer(answer)
            for call, *arguments in (
                (self.client.check,),
                (self.client.scan, EVERYTHING),
                (self.client.get, uuid(1)),
            ):
                error = self.refused(IronicError, call, *arguments)
                self.assertIn('[ironic] endpoint_override', error.hint)


class LookupTest(PlayedTestCase):
    def setUp(self):
        super().setUp()
        self.play(1)

    def test_only_ironics_own_404_about_the_node_means_gone(self):
        self.assertIsNotNone(self.client.get(uuid(0)))
        gone = uuid(5)
        self.assertIsNone(self.client.get(gone))
        text = f'Node {gone} could not be found.'
        status, _, body = fault(404, text)
        for answer, kind in (
            (page('<html>Not Found', 404), IronicError),
            (page(f'<html>{text}', 404), IronicError),
            (page('', 404), IronicError),
            ((status, {}, body), IronicError),
            (fault(404, 'Not Found'), IronicError),
            (fault(404, f'Node {uuid(6)} could not be found.'), IronicError),
            (fault(410, text), IronicError),
            (fault(403, text), IronicError),
            (fault(500, text), IronicUnavailableError),
        ):
            self.answer(answer)
            self.refused(kind, self.client.get, gone)

    def test_fault_as_an_object_is_understood(self):
        self.client.check()
        text = b'{"error_message": {"faultstring": "Node %s is not here"}}'
        signed = {'x-openstack-ironic-api-version': '1.82'}
        self.answer((404, signed, text % uuid(1).encode()))
        self.assertIsNone(self.client.get(uuid(1)))

    def test_answers_about_something_else_are_errors(self):
        self.client.check()
        counts, get = self.client.shard_counts, self.client.get
        changes = self.client.latest_changes, EVERYTHING, 20
        after = self.client.changed_after, EVERYTHING, uuid(0), 20
        for body, call, *values in (
            (f'{{"uuid": "{uuid(2)}"}}', get, uuid(0)),
            ('{"nodes": []}', get, uuid(0)),
            ('[]', get, uuid(0)),
            ('{}', counts),
            ('{"shards": 7}', counts),
            ('{"shards": [7]}', counts),
            ('{"shards": [{"name": "a"}]}', counts),
            *(
                (f'{{"shards": [{{"name": "a", "count": {number}}}]}}', counts)
                for number in ('"x"', '-1', 'true', '1.5', 'NaN', '1e999')
            ),
            ('{"nodes": ["gone"]}', *changes),
            ('{"nodes": ["gone"]}', *after),
        ):
            self.answer(page(body))
            self.refused(IronicError, call, *values)

    def test_malformed_uuid_is_not_requested(self):
        for name in ('', '/', 'node-1', '../chassis', uuid(1) + '/x'):
            self.refused(IronicError, self.client.get, name)
        self.assertEqual([], self.ironic.requests)
