"""Trials of moves with a real Ironic, by the program."""

from __future__ import annotations

import concurrent.futures
import time

from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.contracts.moves import NodeState, Trial
from tests.functional.support import (
    command_line,
    hosts,
    member_expiry,
    move_case,
)

MISSING = '00000000-0000-4000-8000-00000000dead'


class TrialTest(move_case.MoveTestCase):
    """``new`` refreshes when a test lets it."""

    def setUp(self) -> None:
        super().setUp()
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(self.pool.shutdown)
        self.report(Condition(Loop.REFRESH.value))
        # Nodes that go back wait for a third of it.
        text = self.lab.config.read_text()
        self.lab.config.write_text(
            text.replace('member_ttl = 3600', 'member_ttl = 60')
        )

    def report(self, refresh: Condition) -> None:
        self.lab.records.report_conditions(
            'new', 'incarnation-of-new', [refresh], interval=60.0, at=0.0
        )

    def begin(self) -> concurrent.futures.Future[command_line.Done]:
        """Begin a move with a trial; return when its nodes have moved."""
        self.lab._members['new'].beat()
        words = ('compute', 'node', 'move', '--all', '--from', 'old')
        done = self.pool.submit(
            self.lab.run, *words, *('--to', 'new', '--trial', '2', '--yes')
        )
        deadline = time.monotonic() + 120
        while len(self.owned_by('new')) < 2:
            self.assertLess(time.monotonic(), deadline)
            self.assertFalse(done.done(), done)
            time.sleep(0.05)
        return done

    def end(
        self, done: concurrent.futures.Future[command_line.Done], code: int
    ) -> None:
        """Let ``new`` refresh, and wait for the end of the move."""
        self.assertEqual(2, len(self.owned_by('new')))
        self.report(Condition(Loop.REFRESH.value, 3600.0, took=1.0))
        ended = done.result()
        self.assertEqual(code, ended.returncode, ended.stderr)
        self.stderr = ended.stderr

    def test_others_follow_after_a_refresh_of_the_new_owner(self) -> None:
        done = self.begin()
        self.assertEqual(2, len(self.owned_by('old')))
        self.end(done, 0)
        self.assertEqual(sorted(self.nodes), self.owned_by('new'))
        self.assert_whole()

    def test_all_go_back_if_one_node_differs(self) -> None:
        before = self.records()
        done = self.begin()
        bad, good = self.owned_by('new')
        with self.server.sql() as database:
            database.execute(
                'UPDATE nodes SET instance_uuid = ? WHERE uuid = ?',
                (MISSING, bad),
            )
        self.end(done, 3)
        # A node that got an instance meanwhile is not taken from its owner.
        has_instance = before[bad].instance_uuid is not None
        self.assertEqual([bad] if has_instance else [], self.owned_by('new'))
        stays = [] if has_instance else [bad]
        for uuid in (good, *stays):
            self.assertIn(self.owners()[uuid], ('old', None))
        self.assert_whole()
        self.assertIn(f'node {bad}: trial failed: ironic: ', self.stderr)
        self.assertIn(MISSING, self.stderr)
        rows = {
            n.uuid: n for n in self.moves.nodes(self.the_move().request_id)
        }
        self.assertIs(NodeState.REFUSED, rows[good].state)
        self.assertIs(Trial.BACK, rows[good].trial)
        others = [n for n in rows.values() if n.trial is None]
        self.assertEqual([NodeState.REFUSED] * 2, [n.state for n in others])


class ServicesTest(hosts.HostsTestCase):
    """Real services; the history of each test is checked in the end."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes = self.enrolment.enrol(4, instance_share=0.5)
        old = self.deployment.start('old', policies='all')
        self.deployment.wait_for_owners(dict.fromkeys(self.nodes, 'old'))
        old.terminate()
        done = self.deployment.operate('service', 'set', 'old', '--down', '-y')
        self.assertEqual(0, done.returncode, done.stderr)
        self.new = self.deployment.start('new', policies='all')
        self.deployment.wait_for_lines('registered')

    def drain(self, code: int) -> str:
        """Drain ``old`` with a trial of three nodes; return its messages."""
        words = ('service', 'drain', 'old', '--trial', '3', '--yes')
        done = self.deployment.operate(*words)
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stderr

    def test_new_owner_that_works(self) -> None:
        self.assertIn('the trial of 3 nodes has passed', self.drain(0))
        self.assertEqual(
            dict.fromkeys(self.nodes, 'new'), self.deployment.owners()
        )

    def test_frozen_owner_gets_no_node(self) -> None:
        """Those with an instance go back as well."""
        self.deployment.wait_until(
            lambda: 'new' in self.deployment.records.condition_reports(),
            'report of the conditions',
        )
        member_expiry.freeze(self.deployment, self.new)
        said = self.drain(3)
        self.assertIn('trial failed: owner_acts: new', said)
        self.new.thaw()
        self.assertEqual(
            dict.fromkeys(self.nodes, 'old'), self.deployment.owners()
        )
