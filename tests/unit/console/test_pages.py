"""Pages: each is shown, and what they show is that of the service."""

from __future__ import annotations

import dataclasses
import re
import unittest

from ironic_ownership.contracts import exceptions
from ironic_ownership_console import fleet, pages
from tests.unit.console import console_case
from tests.unit.engine import world

PATHS = (
    '/',
    '/?by=shard',
    '/fleet',
    '/fleet?by=conductor_group',
    '/nodes',
    '/nodes?q=node1&service=old&square=down&page=1',
    f'/nodes/{world.uuid(1)}',
    '/services',
    '/services/old',
    '/services/new',
    '/what-if',
    '/what-if?without=new',
    '/moves',
    '/events',
    '/events?service=old',
    '/act/pause',
    f'/act/move/{world.uuid(1)}',
)


class StateTest(unittest.TestCase):
    def test_worst_state_of_a_node_is_that_of_its_square(self) -> None:
        node = {
            'service': 'a',
            'state': 'filtered',
            'unavailable': 'maintenance',
            'instance_uuid': 'x',
        }
        for change, state in (
            ({}, 'filtered'),
            ({'state': 'owned'}, 'used'),
            ({'instance_uuid': None}, 'unavailable'),
            ({'unavailable': None}, 'free'),
            ({'service': 'b'}, 'down'),
            ({'service': None}, 'unowned'),
        ):
            node |= change
            self.assertEqual(state, fleet.state_of(node, frozenset('b')))

    def test_numbers_in_names_are_in_order(self) -> None:
        names = ['rack10', 'rack2', 'a', 'rack2b', '7', '²']
        found = pages.natural([{'host': name} for name in names], 'host')
        self.assertEqual(
            ['7', 'a', 'rack2', 'rack2b', 'rack10', '²'],
            [one['host'] for one in found],
        )


class PagesTest(console_case.ConsoleCase):
    def test_each_page_is_shown_with_its_headers(self) -> None:
        for path in PATHS:
            text = self.page(path)
            self.assertIn('</html>', text)
            policy = self.answer.headers['Content-Security-Policy']
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn('unsafe', policy)
            self.assertEqual('no-store', self.answer.headers['Cache-Control'])

    def test_no_page_has_inline_script_or_style(self) -> None:
        for path in PATHS:
            text = self.page(path)
            self.assertNotIn(' style="', text, path)
            self.assertNotIn('<style', text, path)
            self.assertEqual(
                text.count('<script'), text.count('<script src="/')
            )
            self.assertNotRegex(text, r'\son\w+="')
            self.assertNotIn('https://', text, path)

    def test_overview_says_what_is_wrong_and_what_mends_it(self) -> None:
        text = self.page('/')
        self.assertIn('Attention', text)
        self.assertIn('owned by old, which is not alive', text)
        self.assertIn('Start old again', text)
        self.assertRegex(text, r'No live owner</dt><dd>6<')

    def test_map_has_each_node_once_with_its_state(self) -> None:
        self.page('/fleet.json')
        found = self.answer.get_json()
        self.assertEqual(sorted(self.ironic.nodes), sorted(found['uuids']))
        self.assertEqual('4' * 6, found['states'])
        self.assertEqual(['old'], found['service']['names'])
        self.assertEqual(['a', 'b'], found['shard']['names'])

    def test_snapshot_is_read_again_when_it_is_old(self) -> None:
        now = [0.0]
        kept = fleet.Fleet(
            self.pages.extensions['service'], 10.0, lambda: now[0]
        )
        first = kept.read('')
        now[0] = 10.0
        self.assertIs(first, kept.read(''))
        now[0] = 10.1
        with kept._lock:  # another request reads it
            self.assertIs(first, kept.read(''))
        self.assertIsNot(first, kept.read(''))

    def test_table_of_the_map_counts_the_same(self) -> None:
        text = self.page('/fleet?by=shard')
        rows = re.findall(r'(\w)</a></th><td class="n">(\d)<', text)
        self.assertEqual([('a', '3'), ('b', '3')], rows)

    def test_nodes_are_found_by_name_uuid_and_instance(self) -> None:
        for query, names in (
            ('NODE3', ['node3']),
            (world.uuid(4), ['node4']),
            ('', [f'node{n}' for n in range(1, 7)]),
            ('nothing', []),
        ):
            text = self.page(f'/nodes?q={query}')
            found = [f'node{n}' for n in range(9) if f'>node{n}<' in text]
            self.assertEqual(names, found)

    def test_filters_are_in_the_address(self) -> None:
        text = self.page('/nodes?shard=a')
        self.assertIn('<option selected>a</option>', text)
        self.assertNotIn('>node2<', text)

    def test_node_shows_the_chain_and_its_past(self) -> None:
        text = self.page(f'/nodes/{world.uuid(1)}')
        self.assertIn('the policies want new', text)
        self.assertIn('owner changed', text)
        self.assertIn('old is not alive: start it again', text)

    def test_node_during_an_outage_of_ironic_says_so(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('Ironic off')
        self.assertIn('Ironic off', self.page(f'/nodes/{world.uuid(1)}'))

    def test_what_is_not_there_is_not_found(self) -> None:
        self.page('/services/nwe', 404)
        self.page('/act/explode/x', 404)

    def test_text_of_nodes_and_services_is_text(self) -> None:
        name = '<script>alert("x")</script>'
        node = world.node(8, name=name, shard='"><img src=x onerror=y>')
        self.ironic.put(node)
        self.claim('old', self.epoch, dataclasses.replace(node))
        for path in ('/', '/nodes', f'/nodes/{node.uuid}', '/fleet?by=shard'):
            text = self.page(path)
            self.assertNotIn('<script>alert', text)
            self.assertNotIn('<img', text)
        self.assertIn('&lt;script&gt;', self.page('/nodes'))

    def test_map_is_not_shown_to_who_may_not_read(self) -> None:
        self.page('/fleet.json')
        self.instead = 403
        self.page('/fleet.json', 403)

    def test_service_that_does_not_answer_is_named(self) -> None:
        self.instead = 500
        self.assertIn('the service answered 500', self.page('/', 500))
