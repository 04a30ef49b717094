"""``plugin check`` on nodes of a deployment, and on plugins that never end."""

from __future__ import annotations

import json
import unittest
from typing import Any

from tests.functional.support import command_line, ironics, plugin_packages

HANGS = """
    class Hangs(FilterPolicy):
        contract_version = 1

        def admits(self, node):
            while node.name == 'endless':
                pass
            return True
"""


def _rows(done: command_line.Done) -> dict[str, Any]:
    return {row['law']: row for row in json.loads(done.stdout)}


READS = """
    import pathlib
    from ironic_ownership.contracts import Source

    class Reads(FilterPolicy):
        contract_version = 2
        options = (Option('table', OptionType.STRING, 'A file.'),)
        sources = (
            Source(
                'shards',
                lambda given: pathlib.Path(given['table']).read_text(),
                'Shards.',
            ),
        )

        def admits(self, node):
            return node.shard == self._settings['shards']
"""


ZONES = """
    class Zones(AssignerPolicy):
        contract_version = 2
        options = (
            Option(
                'zone', OptionType.STRING, 'A zone.', default='hall-1',
                regex='hall-[0-9]', per_member=True,
            ),
        )

        def choose(self, request):
            zones = sorted(
                {p.values['zone'] for p in request.peers if p.values}
            )
            if len(zones) > 1:
                raise LookupError(f'zones {zones}')
            return [request.hosts[0] for node in request.nodes]
"""


class TestHanging(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.Site()

    def check(self, *words: str) -> command_line.Done:
        return command_line.run(
            *('plugin', 'check', *words, '-f', 'json'),
            env=self.site.environment,
        )

    def test_law_that_never_ends_is_named_and_the_others_are_checked(
        self,
    ) -> None:
        self.site.install('their-loop', HANGS, {'loop': 'Hangs'})
        lab = command_line.Deployment()
        self.addCleanup(lab.close)
        nodes = lab.directory / 'nodes.json'
        nodes.write_text(
            json.dumps(
                [
                    {
                        'UUID': '6f1c0c4e-8f0a-4b3f-9a53-5a1d6f0e2b77',
                        'Name': 'endless',
                    }
                ]
            )
        )
        words = 'loop', '--nodes', str(nodes), '--time-limit', '3'
        done = self.check(*words)
        self.assertEqual(1, done.returncode, done.stderr)
        rows = _rows(done)
        detail = rows['every node gets an answer']['detail']
        self.assertIn('Hangs still runs after 3 s, in Hangs.admits', detail)
        self.assertEqual('pass', rows['remarks are lines']['result'])
        self.assertIn('loop: remarks are lines', done.stderr)

    def test_source_is_read_and_its_snapshot_is_used(self) -> None:
        self.site.install('their-table', READS, {'reads': 'Reads'})
        table = self.site.file('table')
        words = 'reads', '--option', f'table={table}'
        law = "its source 'shards' can be read"
        done = self.check(*words)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn('FileNotFoundError', _rows(done)[law]['detail'])
        table.write_text('a')
        done = self.check(*words)
        self.assertEqual(0, done.returncode, done.stdout)
        rows = _rows(done)
        self.assertEqual('pass', rows[law]['result'])
        self.assertRegex(
            rows['admitted nodes are in the scope']['detail'],
            r'^admits [1-9]\d* of ',
        )

    def test_members_have_the_values_that_are_given(self) -> None:
        self.site.install('their-zones', ZONES, {'zones': 'Zones'})
        law = 'members differ in their values'
        alone = _rows(self.check('zones'))
        self.assertEqual('skipped', alone[law]['result'])
        self.assertIn('--peer-value', alone[law]['detail'])
        done = self.check('zones', '--peer-value', 'zones.zone=hall-2')
        self.assertEqual(1, done.returncode, done.stderr)
        rows = _rows(done)
        self.assertEqual("zone: 'hall-1', 'hall-2'", rows[law]['detail'])
        self.assertIn(
            "zones ['hall-1', 'hall-2']",
            rows['every node gets an answer']['detail'],
        )
        wrong = self.check('zones', '--peer-value', 'zome=hall-2')
        self.assertEqual(2, wrong.returncode, wrong.stdout)
        self.assertIn('zone', wrong.stderr)

    def test_import_that_never_ends_breaks_a_law(self) -> None:
        self.site.install(
            'their-sleep', 'import time; time.sleep(600)', {'sleep': 'Any'}
        )
        done = self.check('sleep')
        self.assertEqual(1, done.returncode, done.stderr)
        detail = _rows(done)['it can be loaded']['detail']
        self.assertIn('its import has not ended', detail)
        self.assertIn('their-sleep', detail)


class TestFleet(ironics.IronicTestCase):
    """A policy on the nodes of a real Ironic."""

    def setUp(self) -> None:
        super().setUp()
        self.proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.lab = command_line.Deployment(self.proxy.url)
        self.addCleanup(self.lab.close)
        self.enrolment.enrol(3, shard='rack1')
        self.enrolment.enrol(2, shard='rack2')

    def admitted(self, config: Any = None) -> str:
        done = self.lab.run(
            *('plugin', 'check', 'shard_key', '--option', 'shard_key=rack2'),
            *('--from-ironic', '-f', 'json'),
            config=config,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        row: dict[str, Any] = _rows(done)['admitted nodes are in the scope']
        return str(row['detail'])

    def test_nodes_of_the_configured_ironic_are_asked_about(self) -> None:
        self.assertEqual('admits 124 of 247 sample nodes', self.admitted())

    def test_nodes_are_never_listed_without_the_configured_shard(self) -> None:
        config = self.lab.configure(
            'sharded', policies='shard_key', ironic='shard_key = rack1'
        )
        self.assertEqual(
            'admits 122 of 245 sample nodes', self.admitted(config)
        )
        for query in self.proxy.lists:
            self.assertIn(('shard', 'rack1'), query)
