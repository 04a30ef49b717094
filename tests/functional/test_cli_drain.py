"""``service drain`` with a real Ironic: moved and refused nodes."""

from __future__ import annotations

import json
from typing import Any

from ironic_ownership.contracts import model
from tests.functional.support import command_line, hosts, ironics


class DrainTest(ironics.IronicTestCase):
    """``old`` is dead and disabled, with two nodes in each of two shards."""

    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment(self.server.endpoint)
        self.addCleanup(self.lab.close)
        self.in_a = self.enrolment.enrol(2, shard='a', instance_share=0.5)
        self.in_b = self.enrolment.enrol(2, shard='b')
        self.epoch = self.lab.serve('old', command_line.ALL, alive=False)
        inventory = ironics.open_inventory(self.server.endpoint)
        self.nodes = inventory.scan(model.Scope())
        self.lab.claim('old', self.epoch, *self.nodes)
        self.lab.records.set_service('old', actor='test', disabled=True)

    def drain(self, code: int, *words: str) -> list[dict[str, Any]]:
        done = self.lab.run('service', 'drain', *words, '-f', 'json')
        self.assertEqual(code, done.returncode, done.stderr)
        self.assertNotIn('Traceback', done.stderr)
        self.said = done.stderr
        return json.loads(done.stdout) if done.stdout else []

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.lab.records.compute_nodes()}

    def everything(self) -> tuple[object, ...]:
        records = self.lab.records
        return records.services(), self.owners(), records.events()

    def test_each_node_goes_to_a_service_of_its_shard(self) -> None:
        self.lab.serve('in-a', command_line.shard('a'))
        self.lab.serve('in-b', command_line.shard('b'))
        rows = self.drain(0, 'OLD', '--yes')
        self.assertEqual(
            {
                **dict.fromkeys(self.in_a, 'in-a'),
                **dict.fromkeys(self.in_b, 'in-b'),
            },
            self.owners(),
        )
        self.assertEqual({'moved'}, {row['state'] for row in rows})
        # One move for each service that takes nodes.
        self.assertEqual(2, len({row['request_id'] for row in rows}))
        moves = self.lab.json('move', 'list')
        self.assertEqual({'drain of old'}, {move['reason'] for move in moves})
        before = self.everything()
        self.assertEqual([], self.drain(0, 'old', '--yes'))
        self.assertEqual(before, self.everything())

    def test_nothing_moves_if_a_node_has_no_destination(self) -> None:
        self.lab.serve('in-a', command_line.shard('a'))
        before = self.everything()
        rows = self.drain(3, 'old', '--yes')
        self.assertEqual(sorted(self.in_b), sorted(r['uuid'] for r in rows))
        for row in rows:
            self.assertEqual('refused', row['state'])
            self.assertEqual('destination_admits', row['gates'][0]['gate'])
        self.assertIn('2 compute nodes of old cannot be moved', self.said)
        self.assertEqual(before, self.everything())

    def test_others_move_if_unplaceable_nodes_are_skipped(self) -> None:
        self.lab.serve('in-a', command_line.shard('a'))
        self.drain(3, 'old', '--yes', '--skip-invalid')
        self.assertEqual(
            {
                **dict.fromkeys(self.in_a, 'in-a'),
                **dict.fromkeys(self.in_b, 'old'),
            },
            self.owners(),
        )

    def test_record_of_a_node_that_ironic_lost_is_not_moved(self) -> None:
        self.lab.serve('all', command_line.ALL)
        self.enrolment.delete(self.in_b[0])
        before = self.everything()
        (row,) = self.drain(3, 'old', '--yes')
        self.assertEqual(
            (self.in_b[0], 'node_exists'),
            (row['uuid'], row['gates'][0]['gate']),
        )
        self.assertEqual(before, self.everything())

    def test_service_that_is_not_stopped_is_not_drained(self) -> None:
        self.lab.serve('all', command_line.ALL)
        self.lab.records.set_service('old', actor='test', disabled=False)
        before = self.everything()
        rows = self.drain(3, 'old', '--yes')
        self.assertEqual(
            {'source_stopped'},
            {gate['gate'] for row in rows for gate in row['gates']},
        )
        self.assertEqual(before, self.everything())

    def test_disabled_service_takes_nothing(self) -> None:
        self.lab.serve('all', command_line.ALL)
        self.lab.records.set_service('all', actor='test', disabled=True)
        self.drain(3, 'old', '--yes')
        self.assertEqual({'old'}, set(self.owners().values()))

    def test_dry_run_and_silence_change_nothing(self) -> None:
        self.lab.serve('all', command_line.ALL)
        before = self.everything()
        rows = self.drain(0, 'old', '--dry-run')
        self.assertEqual(4, len(rows))
        self.assertEqual({'planned'}, {row['state'] for row in rows}, rows)
        self.assertEqual([], self.drain(2, 'old'))
        self.assertEqual([], self.drain(1, 'odl', '--yes'))
        self.assertIn('Did you mean old?', self.said)
        self.assertEqual(before, self.everything())

    def test_nothing_moves_while_ironic_is_down(self) -> None:
        self.lab.serve('all', command_line.ALL)
        before = self.everything()
        self.lab.ironic = 'http://127.0.0.1:1'
        self.lab.configure()
        self.drain(1, 'old', '--yes')
        self.assertEqual(before, self.everything())


class ForcedDownTest(hosts.HostsTestCase):
    """A real process that does not know yet what an operator decided."""

    def test_running_host_stops_and_recovers_by_itself(self) -> None:
        uuids = self.enrolment.enrol(2)
        host = self.deployment.start('host1', 'all')
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        records = self.deployment.records
        records.set_service('host1', actor='test', forced_down=True)
        self.deployment.wait_until(
            lambda: host.lines('is forced down'), 'sign of being stopped'
        )
        before = self.deployment.events()
        more = self.enrolment.enrol(2)
        self.deployment.wait_for_beats('host1', 6)
        self.assertEqual(before, self.deployment.events())
        self.assertEqual(
            dict.fromkeys(uuids, 'host1'), self.deployment.owners()
        )
        records.set_service('host1', actor='test', forced_down=False)
        self.deployment.wait_for_owners(
            dict.fromkeys([*uuids, *more], 'host1')
        )
        self.assertFalse(records.services()[0].fenced)
        self.assertIsNone(host.process.returncode)

    def test_deleted_service_that_runs_comes_back_with_a_new_epoch(
        self,
    ) -> None:
        host = self.deployment.start('host1', 'all')
        records = self.deployment.records
        self.deployment.wait_until(records.services, 'registration')
        (before,) = records.services()
        records.delete_service('host1', actor='test')
        uuids = self.enrolment.enrol(2)
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        (after,) = records.services()
        self.assertGreater(after.epoch, before.epoch)
        self.assertIsNone(host.process.returncode)
