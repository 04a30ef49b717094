"""A dead service whose node is gone, with real Ironic and Placement."""

from __future__ import annotations

import json
import uuid as uuid_
from typing import Any

from ironic_ownership.api.resources import node_changes as deletion
from ironic_ownership.contracts import model, records
from tests.functional.support import command_line, ironics, laws, placements

GATES = {
    'node_is_gone': 'passed',
    'no_instance': 'passed',
    'no_allocation': 'passed',
    'still_owner': 'passed',
    'no_mass_loss': 'passed',
    'sees_all_nodes': 'passed',
}


class DeletionTestCase(ironics.IronicTestCase, placements.PlacementTestCase):
    """``rack1`` owns four nodes with providers, and ``gone``, too.

    After each test the history must have kept the laws.
    """

    def setUp(self) -> None:
        super().setUp()
        self.lab = lab = command_line.Deployment(self.endpoint)
        self.addCleanup(lab.close)
        self.addCleanup(
            lambda: self.assertEqual([], laws.violations(lab.records))
        )
        lab.config = lab.configure(more=self.placement_section())
        self.epoch = self.lab.serve('rack1', command_line.ALL, alive=False)
        self.nodes = self.enrolment.enrol(4)
        self.placement_server.provide(*self.nodes)
        bare_metal = ironics.open_ironic(self.server.endpoint)
        found = [bare_metal.get(uuid) for uuid in self.nodes]
        self.lab.claim('rack1', self.epoch, *filter(None, found))
        self.gone = self.lose('gone-1')

    def placement_section(self) -> str:
        options = self.placement_server.options()
        lines = [f'{name} = {value}' for name, value in options.items()]
        return '\n'.join(['[placement]', *lines])

    def lose(self, name: str) -> str:
        """Record a node that Ironic does not have."""
        uuid = str(uuid_.uuid4())
        self.placement_server.provide(uuid)
        self.lab.claim('rack1', self.epoch, model.Node(uuid, name=name))
        return uuid

    def update(self, node: model.Node) -> None:
        outcome = self.lab.records.apply(
            'rack1', self.epoch, [records.Update(node)]
        )
        self.assertEqual((), outcome.refused)

    def recorded(self) -> set[str]:
        return {n.uuid for n in self.lab.records.compute_nodes()}

    def assert_all_kept(self) -> None:
        everything = {*self.nodes, self.gone}
        self.assertEqual(everything, self.recorded() & everything)
        self.assertEqual(everything, self.placement_server.providers())

    def assert_only_gone_is_deleted(self) -> None:
        self.assertEqual(set(self.nodes), self.recorded())
        self.assertEqual(set(self.nodes), self.placement_server.providers())

    def run_json(
        self, *words: str, code: int = 0, config: Any = None
    ) -> list[dict[str, Any]]:
        done = self.lab.run(
            'compute', 'node', *words, '-f', 'json', config=config
        )
        self.assertEqual(code, done.returncode, done.stderr)
        self.assertNotIn('Traceback', done.stderr)
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        return rows

    def check(
        self, *nodes: str, code: int = 0, config: Any = None
    ) -> dict[str, str]:
        """Return the outcome of each gate of the last node."""
        rows = self.run_json('check-delete', *nodes, code=code, config=config)
        self.evidence = {row['gate']: row['evidence'] for row in rows}
        return {row['gate']: row[deletion.OUTCOME] for row in rows}

    def assert_refused(self, **outcomes: str) -> None:
        """Only these gates refuse, both commands, and all is kept."""
        self.assertEqual(GATES | outcomes, self.check(self.gone, code=3))
        (row,) = self.run_json('delete', self.gone, '--yes', code=3)
        self.assertEqual(
            ('refused', False, sorted(outcomes)),
            (
                row['result'],
                row['provider_deleted'],
                sorted(row['failed_gates']),
            ),
        )
        self.assert_all_kept()
