"""``check`` and ``service list --long`` with a real Ironic."""

from __future__ import annotations

import json

from ironic_ownership.contracts import model
from tests.functional.support import (
    command_line,
    hosts,
    ironics,
    member_expiry,
)

KEYS = [
    *('severity', 'code', 'what', 'kind', 'count', 'subjects', 'services'),
    'hint',
]
NOWHERE = 'mysql+pymysql://u:hunter2@127.0.0.1:1/x'


def ring(*peers: str) -> model.MemberSettings:
    return model.MemberSettings(
        (
            model.PolicySettings.of(
                'conductor_group', {'conductor_group': 'g1'}
            ),
            model.PolicySettings.of(
                'peer_list', {'peer_list': tuple(sorted(peers))}
            ),
        )
    )


def by_code(problems: list[dict]) -> dict[str, set[str]]:
    """Return the subjects of each code; several problems may have it."""
    found: dict[str, set[str]] = {}
    for problem in problems:
        found.setdefault(problem['code'], set()).update(problem['subjects'])
    return found


class CheckCase(ironics.IronicTestCase):
    """A service on a shard that owns its four nodes: nothing is wrong."""

    def setUp(self) -> None:
        super().setUp()
        self.proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.lab = command_line.Deployment(self.proxy.url)
        self.addCleanup(self.lab.close)
        self.bare_metal = ironics.open_ironic(self.server.endpoint)
        self.epoch = self.lab.serve('rack1', command_line.shard('rack1'))
        self.nodes = self.enrol(4, shard='rack1', instance_share=0.25)
        self.claim('rack1', self.epoch, *self.nodes)

    def enrol(self, count: int, **where) -> list[str]:
        return self.enrolment.enrol(count, **where)

    def claim(self, host: str, epoch: int, *uuids: str) -> None:
        found = [self.bare_metal.get(uuid) for uuid in uuids]
        self.lab.claim(host, epoch, *filter(None, found))

    def check(self, *words: str, code: int = 4, config=None) -> list[dict]:
        done = self.lab.run('check', '-f', 'json', *words, config=config)
        self.assertEqual(code, done.returncode, done)
        found: list[dict] = json.loads(done.stdout)
        for problem in found:
            self.assertEqual(KEYS, list(problem))
            self.assertTrue(problem['hint'], problem)
            if '--long' in words:
                self.assertEqual(problem['count'], len(problem['subjects']))
        return found

    def problems(self, *words: str, **how) -> dict[str, dict]:
        return {p['code']: p for p in self.check('--long', *words, **how)}

    def subjects(self, **how) -> dict[str, set[str]]:
        return by_code(self.check('--long', **how))


class CheckTest(CheckCase):
    def test_nothing_wrong_is_exit_0(self) -> None:
        self.assertEqual([], self.check(code=0))
        done = self.lab.run('check')
        self.assertEqual(
            (0, 'No problems found\n', ''),
            (done.returncode, done.stdout, done.stderr),
        )

    def test_each_list_of_ironic_is_read_once(self) -> None:
        self.assertEqual([], self.check(code=0))
        asked = [
            (path, tuple(query)) for path, query, _ in self.proxy.requests
        ]
        self.assertTrue(self.proxy.lists)
        self.assertCountEqual(set(asked), asked)
        self.assertEqual(1, len({frozenset(q) for q in self.proxy.lists}))

    def test_nodes_are_found_in_every_wrong_state(self) -> None:
        dead = self.lab.serve(
            'rack2', command_line.shard('rack2'), alive=False
        )
        left, lost = self.enrol(2, shard='rack2', instance_share=0.5)
        self.claim('rack2', dead, left, lost)
        (unowned,) = self.enrol(1, shard='rack3')
        (unclaimed,) = self.enrol(1, shard='rack1')
        self.lab.serve('group1', command_line.group('g1'))
        (contested,) = self.enrol(1, shard='rack1', conductor_group='g1')
        orphan = self.nodes[-1]
        self.enrolment.delete(orphan)
        (moved,) = self.nodes[:1]
        self.enrolment.set_shard(moved, 'rack3')
        self.assertEqual(
            {
                'owner_dead_with_instance': {left},
                'owner_dead': {lost},
                'unowned': {unowned},
                'unclaimed': {unclaimed},
                'contested': {contested},
                'orphan': {orphan},
                'filtered': {moved},
                'shard_without_service': {'rack2', 'rack3'},
            },
            self.subjects(),
        )

    def test_services_are_found_with_every_wrong_setting(self) -> None:
        self.lab.serve('rack1b', command_line.shard('rack1'))
        self.lab.serve('host1', ring('host1', 'host2'))
        self.lab.serve('host2', ring('host1', 'host2', 'hots3'))
        self.lab.serve('empty', command_line.shard('rack9'))
        self.lab.records.report(
            'rack1',
            self.epoch,
            view_checksum='0123456789abcdef',
            config_error='[ironic] shard_key is half-written',
        )
        (case,) = self.enrol(1, shard='Rack1')
        found = self.check('--long')
        self.assertEqual(
            {
                'unowned': {case},
                'conflict': set(self.nodes),
                'shard_shared': {'rack1', 'rack1b'},
                'settings_differ': {'host1', 'host2'},
                'peer_unknown': {'hots3'},
                'shard_without_service': {'Rack1'},
                'shard_case': {'Rack1', 'rack1'},
                'shard_without_nodes': {'rack9'},
                'view_differs': {'rack1'},
                'config_error': {'rack1'},
            },
            by_code(found),
        )
        severities = [problem['severity'] for problem in found]
        self.assertEqual(sorted(severities), severities)
        done = self.lab.run('check')
        self.assertEqual((4, ''), (done.returncode, done.stderr))
        self.assertIn('shard_case', done.stdout)
        self.assertLess(max(map(len, done.stdout.splitlines())), 250)

    def test_with_a_shard_key_every_list_names_a_shard(self) -> None:
        config = self.lab.configure(
            'sharded', policies='shard_key', ironic='shard_key = rack1'
        )
        self.assertEqual([], self.check(config=config, code=0))
        (unowned,) = self.enrol(1, shard='rack3')
        self.enrol(2)
        found = self.subjects(config=config)
        self.assertEqual({unowned}, found['unowned'])
        self.assertIn('not_listed', found)
        for query in self.proxy.lists:
            self.assertTrue(dict(query).get('shard'), query)


class OutageTest(CheckCase):
    def test_outage_of_ironic_is_named_and_the_rest_is_checked(
        self,
    ) -> None:
        dead = self.lab.serve(
            'rack2', command_line.shard('rack2'), alive=False
        )
        self.claim('rack2', dead, *self.enrol(1, shard='rack2'))
        self.server.kill()
        self.addCleanup(self.server.start)
        found = self.problems()
        self.assertEqual({'owner_dead', 'ironic_unavailable'}, set(found))
        self.assertIn('unowned nodes', found['ironic_unavailable']['hint'])
        done = self.lab.run('check')
        self.assertEqual((4, ''), (done.returncode, done.stderr))
        self.assertIn('checks were skipped (--long lists', done.stdout)
        self.assertNotIn('unowned nodes', done.stdout)
        done = self.lab.run('service', 'list', '--long', '-f', 'json')
        self.assertEqual(4, done.returncode, done)
        self.assertIn('Ironic is unknown', done.stderr)
        rows = {row['host']: row for row in json.loads(done.stdout)}
        self.assertEqual(
            (4, 3, None),
            tuple(
                rows['rack1'][key] for key in ('nodes', 'free', 'unavailable')
            ),
        )

    def test_database_that_is_down_is_exit_4_and_no_traceback(self) -> None:
        config = self.lab.configure(
            'lost', more=f'[database]\nconnection = {NOWHERE}'
        )
        found = self.problems(config=config)
        self.assertIn('records_unavailable', found)
        for problem in found.values():
            self.assertNotIn('hunter2', json.dumps(problem))
        done = self.lab.run('check', config=config)
        self.assertEqual(4, done.returncode)
        self.assertNotIn('Traceback', done.stderr + done.stdout)


class HostsTest(hosts.HostsTestCase):
    """Real host processes: what they report is what the check expects."""

    def check(self) -> dict[str, dict]:
        done = self.deployment.operate('check', '-f', 'json')
        self.assertIn(done.returncode, (0, 4), done)
        return {p['code']: p for p in json.loads(done.stdout)}

    def wait_for_check(self, *codes: str) -> None:
        self.deployment.wait_until(
            lambda: set(self.check()) == set(codes), f'check {codes}'
        )

    def test_services_at_rest_are_well_and_a_dead_one_is_missed(self) -> None:
        for name in ('host1', 'host2'):
            host = self.deployment.start(name)
        self.deployment.wait_for_members('host1', 'host2')
        # Only now: the first service would keep all nodes with an instance.
        uuids = self.enrolment.enrol(
            24, same_every_time=True, instance_share=0.5
        )
        self.deployment.wait_until(
            lambda: set(self.deployment.owners()) == set(uuids),
            'owner of each node',
        )
        self.wait_for_check()
        deployed = self.deployment.owned_by('host2') & set(uuids[:12])
        host.kill()
        member_expiry.bury(self.deployment, 'host2')
        # Free nodes follow the ring, deployed ones wait for an operator.
        self.wait_for_check('owner_dead_with_instance')
        found = self.check()['owner_dead_with_instance']
        self.assertEqual(len(deployed), found['count'])
        self.assertEqual(['host2'], found['services'])
