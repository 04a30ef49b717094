"""Nodes validated against the conductors of a real Ironic."""

from __future__ import annotations

import json

from lab import process
from tests.functional.support import (
    command_line,
    conductors,
)


class TestValidate(conductors.ConductorsCase):
    """Validation refuses at least what Ironic refuses."""

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
        lab = command_line.Deployment(self.ironic.endpoint)
        self.addCleanup(lab.close)
        lab.serve('host1', command_line.ALL)
        nodes = [
            {'driver': driver, 'conductor_group': group}
            for driver in (conductors.FAKE, conductors.MANUAL, 'ipmi')
            for group in ('', 'g1', 'g2')
        ]
        path = lab.directory / 'nodes.json'
        rows = [{**node, 'resource_class': 'b'} for node in nodes]
        path.write_text(json.dumps({'nodes': rows}))
        done = lab.run('node', 'validate', str(path), '-f', 'json')
        self.assertEqual(3, done.returncode, done.stderr)
        found = {row['place'] for row in json.loads(done.stdout)}
        for number, node in enumerate(nodes):
            self.assertEqual(
                self.is_taken(**node), f'nodes[{number}]' not in found, node
            )
        self.assertEqual(6, len(found))
