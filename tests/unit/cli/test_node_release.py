"""``compute node release``, in this process and over HTTP."""

from __future__ import annotations

from unittest import mock

from ironic_ownership.cli import confirmation
from ironic_ownership.cli.node_release import ReleaseComputeNode
from tests.unit.cli import test_move
from tests.unit.engine import world

ONE, TWO = world.uuid(1), world.uuid(2)


class ReleaseComputeNodeTest(test_move.CommandCase):
    """``old`` is disabled and owns nodes that ``new`` admits as well."""

    def setUp(self) -> None:
        super().setUp()
        confirm = mock.patch.object(confirmation, 'confirm')
        self.confirm = confirm.start()
        self.addCleanup(confirm.stop)

    def release(self, *words: str) -> tuple[int, dict[str, str]]:
        code, rows = self.run_command(ReleaseComputeNode, *words)
        return code, {row['uuid']: row['result'] for row in rows}

    def owners(self) -> set[str | None]:
        return {
            r.host
            for r in self.records.compute_nodes()
            if r.uuid in (ONE, TWO)
        }

    def test_dry_run_changes_nothing(self) -> None:
        self.assertEqual(
            (0, {ONE: 'would_release'}), self.release('node1', '--dry-run')
        )
        self.assertEqual({'old'}, self.owners())
        self.confirm.assert_not_called()

    def test_released_and_refused(self) -> None:
        node = world.node(2, name='node2', instance_uuid=world.uuid(902))
        self.ironic.put(node)
        self.assertEqual(
            (3, {ONE: 'released', TWO: 'refused'}),
            self.release(ONE, 'node2', '--reason', 'CHG-42'),
        )
        self.confirm.assert_called_once()
        self.assertEqual({None, 'old'}, self.owners())
        event = self.records.events(limit=1)[0]
        self.assertEqual(
            ('node_handed_over', 'CHG-42', 'old'),
            (event.kind, event.reason, event.from_host),
        )
        self.assertTrue(str(event.request_id).startswith('req-'))
        self.assertEqual((0, {ONE: 'unchanged'}), self.release(ONE, '--yes'))

    def test_all_refused_is_shown_with_the_gates(self) -> None:
        del self.ironic.nodes[ONE]
        code, rows = self.run_command(ReleaseComputeNode, ONE, '--yes')
        self.assertEqual(3, code)
        self.assertIn('node_exists', rows[0]['failed_gates'])
        self.assertIn('compute node delete', rows[0]['hint'])


class RemoteReleaseComputeNodeTest(ReleaseComputeNodeTest):
    """The same over HTTP."""

    remote = True
