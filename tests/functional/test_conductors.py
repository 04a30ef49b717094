"""Nodes validated against the conductors of a real Ironic."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from lab import process
from tests.functional.support import (
    command_line,
    conductors,
)


class TestValidate(conductors.ConductorsCase):
    """Validation refuses at least what Ironic refuses."""

    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment(self.ironic.endpoint)
        self.addCleanup(self.lab.close)

    def validate(self, document: Any, *words: str) -> command_line.Done:
        path = pathlib.Path(self.lab.directory) / 'nodes.json'
        path.write_text(json.dumps(document))
        return self.lab.run('node', 'validate', str(path), *words)

    def faults(self, *nodes: dict[str, object]) -> dict[str, set[str]]:
        done = self.validate({'nodes': nodes}, '-f', 'json')
        found: dict[str, set[str]] = {}
        for row in json.loads(done.stdout):
            found.setdefault(row['place'], set()).add(row['fault'])
        refused = any(fault != {'not_admitted'} for fault in found.values())
        self.assertEqual(3 if refused else 0, done.returncode, done.stderr)
        return found

    def is_taken(self, **node: object) -> bool:
        try:
            self.ironic.request('POST', '/nodes', json=node)
        except process.LabError as exc:
            self.assertIn('400', str(exc))
            return False
        return True

    def test_what_ironic_refuses_by_driver_and_group_is_refused(
        self,
    ) -> None:
        self.lab.serve('host1', command_line.ALL)
        nodes = [
            {'driver': driver, 'conductor_group': group}
            for driver in (conductors.FAKE, conductors.MANUAL, 'ipmi')
            for group in ('', 'g1', 'g2')
        ]
        found = self.faults(*({**n, 'resource_class': 'b'} for n in nodes))
        for number, node in enumerate(nodes):
            self.assertEqual(
                self.is_taken(**node), f'nodes[{number}]' not in found, node
            )
        self.assertEqual(6, len(found))
