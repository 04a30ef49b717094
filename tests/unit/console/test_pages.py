"""Pages: each is shown, and what they show is that of the service."""

from __future__ import annotations

import html
import re
import unittest

from ironic_ownership.contracts import exceptions, moves
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership_console import fleet, node, words
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
    '/what-if?a=all&b=shard_key&options=shard_key=a',
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
        found = words.natural([{'host': name} for name in names], 'host')
        self.assertEqual(
            ['7', 'a', 'rack2', 'rack2b', 'rack10', '²'],
            [one['host'] for one in found],
        )


class OwnersTest(unittest.TestCase):
    @staticmethod
    def event(second: int, host: str | None) -> dict[str, str | None]:
        return {'at': f'2026-01-01T00:00:{second:02d}+00:00', 'to_host': host}

    def test_each_owner_has_its_part_of_the_time(self) -> None:
        events = [
            self.event(second, host)
            for second, host in ((40, 'a'), (30, None), (20, 'b'), (0, 'a'))
        ]
        now = node.spans(events[:1], 0)[0].since + 10
        found = node.spans(events, now)
        self.assertEqual(
            [('a', 1, 0, 400), ('b', 2, 400, 200), (None, 0, 600, 200)],
            [(o.host, o.colour, o.x, o.width) for o in found[:3]],
        )
        self.assertEqual(
            ('a', 1, 800, 200),
            (*(found[3].host, found[3].colour, found[3].x, found[3].width),),
        )

    def test_one_thing_is_not_several(self) -> None:
        for number, text in (
            (0, '0 nodes'),
            (1, '1 node'),
            (1006, '1,006 nodes'),
        ):
            self.assertEqual(text, words.counted(number, 'node'))

    def test_age_is_never_negative(self) -> None:
        at = '1970-01-01T00:01:00+00:00'
        for now, text in (
            (63.5, '3 s ago'),
            (180, '2 min ago'),
            (1, '0 s ago'),
        ):
            self.assertEqual(text, words.age(at, lambda now=now: now))
        self.assertEqual('', words.age(None))


class PagesTest(console_case.ConsoleCase):
    def test_each_page_is_shown_with_its_headers(self) -> None:
        for path in PATHS:
            text = self.page(path)
            self.assertIn('</html>', text)
            # No page has inline script or style.
            for inline in (' style="', '<style', 'https://'):
                self.assertNotIn(inline, text, path)
            self.assertEqual(
                text.count('<script'), text.count('<script src="/')
            )
            self.assertNotRegex(text, r'\son\w+="')
            policy = self.answer.headers['Content-Security-Policy']
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn('unsafe', policy)
            self.assertEqual('no-store', self.answer.headers['Cache-Control'])

    def test_overview_says_what_is_wrong_and_what_mends_it(self) -> None:
        text = self.page('/')
        self.assertIn('Attention', text)
        self.assertNotIn('Every node has an owner', text)
        self.assertIn('owned by old, which is not alive', text)
        self.assertIn('Start old again', text)
        # Neither breaks at its hyphens.
        for word in ('ironic-ownership', '--down'):
            self.assertIn(f'<span class="whole">{word}</span>', text)
        self.assertRegex(text, r'No live owner</dt><dd>6<')

    def test_map_has_each_node_once_with_its_state(self) -> None:
        self.page('/fleet.json')
        found = self.answer.get_json()
        self.assertEqual(sorted(self.ironic.nodes), sorted(found['uuids']))
        self.assertEqual('4' * 6, found['states'])
        self.assertEqual(['old'], found['service']['names'])
        self.assertEqual(['a', 'b'], found['shard']['names'])
        text = self.page('/fleet?by=shard')
        rows = re.findall(r'(\w)</a></th><td class="n">(\d)<', text)
        self.assertEqual([('a', '3'), ('b', '3')], rows)
        # Such an address has all nodes.
        text = self.page('/fleet?by=conductor_group')
        self.assertNotIn('href="/nodes?conductor_group="', text)
        self.instead = 403
        self.page('/fleet.json', 403)
        self.instead = 500
        self.assertIn('the service answered 500', self.page('/', 500))
        self.instead = 0
        self.page('/services/nwe', 404)
        self.page('/act/explode/x', 404)

    def test_address_without_a_page_leads_to_the_others(self) -> None:
        for path in ('/nowhere', '/services/', '/act/explode'):
            text = self.page(path, 404)
            self.assertIn('role="alert"', text)
            self.assertIn('href="/services"', text)
        self.assertIn('href="/services"', self.page('/', 405, method='PUT'))

    def test_service_that_is_forced_down_serves_no_node(self) -> None:
        self.backend.join('old', 'two', world.ALL)
        self.records.set_service('old', actor='rita', forced_down=True)
        self.page('/fleet.json')
        self.assertEqual('4' * 6, self.answer.get_json()['states'])

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
        self.assertIn('<strong>1 node</strong>', self.page('/nodes?q=node3'))
        text = self.page('/nodes?shard=a')
        self.assertIn('<option selected>a</option>', text)
        self.assertNotIn('>node2<', text)

    def test_another_policy_is_compared(self) -> None:
        text = self.page('/what-if?a=all&b=shard_key&options=new:shard_key=a')
        # Those of the other shard would have no owner.
        self.assertRegex(text, r'Change owner</dt><dd>3<')
        self.assertIn('value="shard_key"', text)
        self.assertIn('value="new:shard_key=a"', text)
        text = self.page('/what-if?a=all&b=shared_key')
        self.assertIn('role="alert"', text)
        self.assertIn('value="shared_key"', text)

    def test_events_are_filtered_by_their_address(self) -> None:
        self.records.set_service('old', actor='rita', disabled=False)
        uuid = world.uuid(1)
        for query, number in (
            ('kind=owner_changed', 6),
            (f'kind=owner_changed&node={uuid}', 1),
            ('actor=rita', 1),
            ('actor=rita&until=2001-01-01', 0),
            ('since=2001-01-01T10:00&kind=owner_changed&service=old', 6),
            ('request_id=req-1', 0),
        ):
            text = self.page(f'/events?{query}')
            self.assertEqual(number, text.count('<td class="time">'), query)
        self.assertIn('value="req-1"', text)
        text = self.page('/events?since=yesterday&kind=service_died')
        self.assertIn('role="alert"', text)
        self.assertIn('<option value="service_died" selected>', text)

    def test_older_events_have_the_same_filter(self) -> None:
        for number in range(101):
            self.records.set_service(
                'old', actor='rita', disabled=bool(number % 2)
            )
        text = self.page('/events?actor=rita&kind=service_changed')
        (link,) = re.findall(r'rel="next" href="([^"]*)"', text)
        text = self.page(html.unescape(link))
        self.assertIn('value="rita"', text)
        self.assertIn('<option value="service_changed" selected>', text)
        self.assertEqual(1, text.count('<td class="time">'))

    def test_move_whose_trial_is_not_verified_can_be_resumed(self) -> None:
        nodes = [
            moves.NodeMove(
                *(world.uuid(number), 'old', self.epoch),
                trial=moves.Trial.FIRST,
            )
            for number in (1, 2)
        ]
        port = SqlMoves(self.wired.database)
        port.plan(moves.Move('req-1', 'new', 'rita'), nodes)
        port.refuse('req-1', {nodes[1].uuid: 'it is reserved'})
        self.records.set_service('old', actor='rita', forced_down=True)
        port.carry_out('req-1', nodes)
        text = self.page('/moves/req-1')
        self.assertIn('/act/resume-move/req-1', text)
        self.assertIn('hx-trigger', text)
        # Those that were refused come first.
        self.assertEqual(
            ['refused', 'moved'],
            re.findall('<td>(refused|moved)</td>', text),
        )
        port.pass_trial('req-1')
        text = self.page('/moves/req-1')
        self.assertNotIn('/act/resume-move/req-1', text)
        self.assertNotIn('hx-trigger', text)

    def test_node_shows_what_may_be_done_and_the_gates_that_forbid_it(
        self,
    ) -> None:
        text = self.page(f'/nodes/{world.uuid(1)}')
        for shown in (
            'the policies want new',
            'owner changed',
            'old is not alive: start it again',
        ):
            self.assertIn(shown, text)
        # One owner, in all of the time.
        self.assertEqual(1, text.count('<rect class="o1" x='))
        self.assertIn('width="1000.0"', text)
        self.assertRegex(text, r'Move to new <span class="mark good">')
        self.assertIn(f'/act/move/{world.uuid(1)}?service=new', text)
        for gate in ('destination admits', 'not given back', 'no instance'):
            self.assertIn(f'<div>{gate}', text)
        # old has stopped, so that it cannot act on its node.
        self.assertRegex(text, r'acts on it <span class="mark error">')
        self.assertNotIn('sees all nodes', text)
        self.assertIn(
            'sees all nodes', self.page(f'/nodes/{world.uuid(1)}?deletion=1')
        )
        self.change_node(1, instance_uuid=world.uuid(9))
        text = self.page(f'/nodes/{world.uuid(1)}')
        self.assertRegex(text, r'Release <span class="mark error">')
        self.ironic.fail_with = exceptions.IronicUnavailableError('Ironic off')
        self.assertIn('Ironic off', self.page(f'/nodes/{world.uuid(1)}'))
        self.ironic.fail_with = None
        del self.ironic.nodes[world.uuid(1)]
        text = self.page(f'/nodes/{world.uuid(1)}')
        self.assertRegex(text, r'Delete the record <span class="mark good">')
        self.assertIn('node is gone', text)

    def test_who_may_only_read_sees_that_of_each_action(self) -> None:
        self.of_path = {'/v1/moves': 403, '/release': 502}
        text = self.page(f'/nodes/{world.uuid(1)}')
        self.assertRegex(text, r'Move to new <span class="mark error">')
        self.assertRegex(text, r'Release <span class="mark unknown">')
        self.of_path = {'/failover': 403}
        text = self.page('/services/new')
        self.assertIn('<h3>Fail over <span class="mark error">', text)

    def test_gates_of_a_move_are_those_of_the_chosen_service(self) -> None:
        self.records.register('third', world.ALL)
        text = self.page(f'/nodes/{world.uuid(1)}?to=third')
        self.assertRegex(text, r'Move to third <span class="mark error">')
        self.assertIn('<option selected>third</option>', text)
        text = self.page(f'/nodes/{world.uuid(1)}?to=fourth')
        self.assertIn('Move to new', text)

    def test_service_shows_what_may_be_done_and_the_gates_that_forbid_it(
        self,
    ) -> None:
        self.page('/services/new', headers={'HX-Request': 'true'})
        # A part that is redrawn asks for no proposal.
        self.assertEqual({'GET'}, {one.method for one in self.sent})
        text = self.page('/services/new')
        for title, state in (
            ('Fail over', 'error">not possible'),
            ('Disable', 'good">possible'),
            ('Force down', 'good">possible'),
            ('Delete', 'error">not possible'),
        ):
            self.assertIn(f'<h3>{title} <span class="mark {state}', text)
        self.assertIn('no process stands by for new', text)
        self.assertRegex(text, '<div>not alive<')
        self.records.set_service(
            'new', actor='rita', disabled=True, forced_down=True
        )
        text = self.page('/services/new')
        for title in ('Enable', 'Let it come up'):
            self.assertIn(f'<h3>{title} <span class="mark good">', text)

    def test_gates_of_a_drain_are_those_of_all_nodes(self) -> None:
        text = self.page('/services/old')
        self.assertIn('<h3>Drain </h3>', text)
        self.assertFalse([x for x in self.sent if 'drain' in x.path_url])
        text = self.page('/services/old?drain=1')
        self.assertIn('<h3>Drain <span class="mark good">', text)
        self.assertIn('<summary>14 passed</summary>', text)
        self.change_node(2, reservation='conductor-1')
        text = self.page('/services/old?drain=1')
        self.assertIn('<h3>Drain <span class="mark error">', text)
        self.assertRegex(text, '1 of 6 nodes: .*conductor-1')

    def test_text_of_nodes_and_services_is_text(self) -> None:
        name = '<script>alert("x")</script>'
        node = world.node(8, name=name, shard='"><img src=x onerror=y>')
        self.ironic.put(node)
        self.claim('old', self.epoch, node)
        for path in ('/', '/nodes', f'/nodes/{node.uuid}', '/fleet?by=shard'):
            text = self.page(path)
            self.assertNotIn('<script>alert', text)
            self.assertNotIn('<img', text)
        self.assertIn('&lt;script&gt;', self.page('/nodes'))
