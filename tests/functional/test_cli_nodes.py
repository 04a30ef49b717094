"""``compute node list`` and ``show`` beside a real Ironic, every state."""

from __future__ import annotations

from tests.functional.support import command_line, ironics

SHORT = [
    *('uuid', 'name', 'service', 'state', 'instance_uuid'),
    *('shard', 'conductor_group', 'reason', 'unavailable'),
]
LONG = [
    *SHORT,
    *('driver', 'provision_state', 'maintenance'),
    *('decided_owner', 'wanted_by', 'contenders', 'service_alive'),
]
SHOW = [
    *SHORT,
    'unavailable_detail',
    *('explanation', 'decided_owner', 'wanted_by', 'contenders'),
    *('service_alive', 'driver', 'resource_class', 'provision_state'),
    *('power_state', 'maintenance', 'reservation', 'retired'),
    *('recorded_reason', 'recorded_instance_uuid', 'recorded_unavailable'),
    *('unavailable_since', 'recorded_at', 'events'),
]


class _Case(ironics.IronicTestCase):
    """Three services: two on shards, one on a conductor group.

    One node for each state, called after it.
    """

    def setUp(self) -> None:
        super().setUp()
        self.proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.lab = command_line.Deployment(self.proxy.url)
        self.addCleanup(self.lab.close)
        self.sharded = self.lab.configure(
            'sharded',
            host='rack1',
            policies='shard_key',
            ironic='shard_key = rack1',
        )
        epoch = self.lab.serve('rack1', command_line.shard('rack1'))
        self.lab.serve('rack2', command_line.shard('rack2'))
        self.lab.serve('group1', command_line.group('g1'))
        self.bare_metal = ironics.open_ironic(self.server.endpoint)
        self.owned = self._node('owned', shard='rack1')
        self.filtered = self._node(
            'filtered', shard='rack1', instance_share=1.0
        )
        self.orphan = self._node('orphan', shard='rack1')
        self.unowned = self._node('unowned', shard='rack9')
        self.contested = self._node(
            'contested', shard='rack2', conductor_group='g1'
        )
        recorded = [
            self.bare_metal.get(uuid)
            for uuid in (self.owned, self.filtered, self.orphan)
        ]
        self.lab.claim('rack1', epoch, *filter(None, recorded))
        self.enrolment.set_shard(self.filtered, 'rack9')
        self.enrolment.delete(self.orphan)
        self.states = {
            self.owned: 'owned',
            self.filtered: 'filtered',
            self.orphan: 'orphan',
            self.unowned: 'unowned',
            self.contested: 'contested',
        }

    def _node(self, prefix: str, **where) -> str:
        (uuid,) = self.enrolment.enrol(1, prefix=prefix, **where)
        return uuid

    def listed(self, *words: str, config=None) -> dict[str, dict]:
        rows = self.lab.json('compute', 'node', 'list', *words, config=config)
        return {row['uuid']: row for row in rows}

    def states_of(self, *words: str, config=None) -> dict[str, str]:
        rows = self.listed(*words, config=config)
        return {uuid: row['state'] for uuid, row in rows.items()}

    def assert_refused(self, done, *words: str) -> None:
        self.assertEqual((1, ''), (done.returncode, done.stdout), done)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertNotIn('unexpected', done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class ListTest(_Case):
    def test_recorded_list_asks_for_no_node(self) -> None:
        self.proxy.requests.clear()
        done = self.lab.run(
            *('compute', 'node', 'list', '--recorded', '-f', 'value'),
            *('--service', 'RACK1', '-c', 'uuid', '-c', 'state'),
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(
            sorted(
                f'{uuid} owned'
                for uuid in (self.owned, self.filtered, self.orphan)
            ),
            done.stdout.splitlines(),
        )
        self.assertIn('no refresh is on record of rack1', done.stderr)
        self.assertEqual([], self.proxy.requests)

    def test_each_state_comes_about(self) -> None:
        rows = self.listed()
        self.assertEqual(
            self.states, {uuid: row['state'] for uuid, row in rows.items()}
        )
        reasons = {row['state']: row['reason'] for row in rows.values()}
        self.assertEqual(
            {
                'owned': 'exclusive',
                'filtered': 'instance_stays',
                'orphan': 'node_gone',
                'unowned': 'not_admitted',
                'contested': 'contested_unowned',
            },
            reasons,
        )
        for row in rows.values():
            self.assertEqual(SHORT, list(row))
            self.assertTrue(row['name'].startswith(row['state']), row)
        self.assertEqual('rack1', rows[self.filtered]['service'])
        self.assertEqual('rack9', rows[self.filtered]['shard'])
        self.assertTrue(rows[self.filtered]['instance_uuid'])

    def test_long_list_shows_decision_and_contenders(self) -> None:
        rows = self.listed('--long')
        for row in rows.values():
            self.assertEqual(LONG, list(row))
        self.assertEqual(
            ['group1', 'rack2'], rows[self.contested]['contenders']
        )
        self.assertIs(True, rows[self.owned]['service_alive'])
        self.assertIsNone(rows[self.unowned]['service_alive'])
        self.assertEqual('available', rows[self.owned]['provision_state'])
        self.assertIs(False, rows[self.owned]['maintenance'])

    def test_with_a_shard_key_every_list_names_a_shard(self) -> None:
        for words in (
            (),
            ('--shard', 'rack9'),
            ('--conductor-group', 'g1'),
            ('--state', 'orphan'),
        ):
            self.listed(*words, config=self.sharded)
        self.lab.run('compute', 'node', 'show', 'unknown', config=self.sharded)
        self.assertLessEqual(4, len(self.proxy.lists))
        for query in self.proxy.lists:
            self.assertTrue(dict(query).get('shard'), query)

    def test_with_a_shard_key_only_404_makes_an_orphan(self) -> None:
        # The owner's record still says rack1, Ironic rack9.
        self.assertEqual(
            {
                self.owned: 'owned',
                self.filtered: 'filtered',
                self.orphan: 'orphan',
            },
            self.states_of(config=self.sharded),
        )


class ShowTest(_Case):
    def show(self, *words: str, config=None) -> dict:
        return self.lab.json('compute', 'node', 'show', *words, config=config)

    def test_each_state_is_shown_as_it_is_listed(self) -> None:
        rows = self.listed()
        for uuid, state in self.states.items():
            shown = self.show(uuid)
            self.assertEqual(SHOW, list(shown))
            self.assertEqual(state, shown['state'])
            self.assertEqual(
                rows[uuid], {key: shown[key] for key in SHORT}, state
            )

    def test_uuid_is_never_filtered(self) -> None:
        shown = self.show(self.contested, config=self.sharded)
        self.assertEqual('contested', shown['state'])
        self.assertEqual([], self.proxy.lists)
