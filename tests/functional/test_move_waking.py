"""A source that sleeps through a move and wakes up writes nothing."""

from __future__ import annotations

from ironic_ownership.contracts import model
from tests.functional.support import hosts, member_expiry


class WakingSourceTest(hosts.HostsTestCase):
    """Real host processes: one is frozen while its nodes are moved."""

    def test_frozen_source_that_wakes_up_has_lost_its_nodes(self) -> None:
        deployment = self.deployment
        nodes = self.enrolment.enrol(6, instance_share=0.5)
        old = deployment.start('old', 'all')
        deployment.wait_for_owners(dict.fromkeys(nodes, 'old'))
        deployment.start('new', 'all')
        deployment.wait_for_members('old', 'new')
        member_expiry.freeze(deployment, old)
        deployment.records.set_service('old', actor='test', forced_down=True)
        moved = deployment.operate(
            *('compute', 'node', 'move', '--all', '--from', 'old'),
            *('--service', 'new', '--yes'),
        )
        self.assertEqual(0, moved.returncode, moved.stderr)
        # What the source knows of this node is not true any more: it would
        # want to write.
        self.enrolment.set_instance(nodes[0], None)
        expected = dict.fromkeys(nodes, 'new')
        self.assertEqual(expected, deployment.owners())
        old.thaw()
        deployment.wait_until(
            lambda: old.lines('service old is forced down'),
            'notice of old that it is forced down',
        )
        self.awake_and_harmless(expected)
        # Forced down no more, it may write again, and these nodes are gone.
        deployment.records.set_service('old', actor='test', forced_down=False)
        deployment.wait_until(
            lambda: (
                not next(
                    s for s in deployment.records.services() if s.host == 'old'
                ).fenced
            ),
            'the right to write of old',
        )
        self.awake_and_harmless(expected)
        # Having slept, it still listens to signals.
        self.assertEqual(0, old.terminate())
        self.assertEqual([], old.lines('Traceback'))

    def awake_and_harmless(self, expected: dict[str, str]) -> None:
        """Let both beat and refresh a few times; nothing may change."""
        deployment = self.deployment
        for host in ('old', 'new'):
            deployment.wait_for_beats(host, 5)
        self.assertEqual(expected, deployment.owners())
        wrote = [e for e in self.since_the_move() if e.actor == 'old']
        self.assertLessEqual({e.kind for e in wrote}, {'service_registered'})

    def since_the_move(self) -> list[model.Event]:
        events = self.deployment.events()
        last = max(i for i, e in enumerate(events) if e.kind == 'node_moved')
        return events[last + 1 :]
