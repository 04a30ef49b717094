"""Plugins of third parties on the command line: listed, shown, checked."""

from __future__ import annotations

import json
import unittest
from typing import Any

from tests.functional.support import command_line, ironics, plugin_packages

GOOD = """
    class Colour(FilterPolicy):
        '''Nodes of one colour.

        And nothing else.
        '''

        contract_version = 1
        options = (
            Option('colour', OptionType.STRING, 'The colour.', required=True,
                   aliases=('color',), regex='[a-z]+', maximum=9),
            Option('shades', OptionType.LIST, 'Shades.', default=('a',)),
            Option('depth', OptionType.INTEGER, 'Depth.', 3, minimum=1),
        )

        def settings(self):
            shades = tuple(sorted(self._settings['shades']))
            return {**self._settings, 'shades': shades}

        def admits(self, node):
            return node.properties.get('colour') == self._settings['colour']

    class First(AssignerPolicy):
        contract_version = 1

        def assign(self, nodes, hosts):
            return [min(hosts) for _ in nodes]
"""
BAD = """
    class Last(AssignerPolicy):
        contract_version = 1

        def assign(self, nodes, hosts):
            return [hosts[-1] for _ in nodes]
"""
HANGS = """
    class Hangs(FilterPolicy):
        contract_version = 1

        def admits(self, node):
            while node.name == 'endless':
                pass
            return True
"""
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


class _Case(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.Site()

    def run_program(self, *words: str) -> command_line.Done:
        return command_line.run(*words, env=self.site.environment)

    def json(self, *words: str, code: int = 0) -> Any:
        done = self.run_program(*words, '-f', 'json')
        self.assertEqual(code, done.returncode, done.stderr)
        return json.loads(done.stdout)


class TestShow(_Case):
    def test_policy_is_shown_with_all_that_it_declares(self) -> None:
        self.site.install('their-colours', GOOD, {'colour': 'Colour'})
        found = self.json('policy', 'show', 'colour')
        options = found.pop('options')
        self.assertEqual(
            {
                'name': 'colour',
                'kind': 'filter',
                'distribution': 'their-colours',
                'version': '1.5',
                'selected': False,
                'summary': 'Nodes of one colour.',
                'target': 'their_colours:Colour',
                'contract_version': 1,
                'capabilities': [],
                'status': 'ok',
                'remark': None,
            },
            found,
        )
        self.assertEqual(
            [
                ('colour', 'policy_colour', 'string', None, True),
                ('shades', 'policy_colour', 'list', ['a'], False),
                ('depth', 'policy_colour', 'integer', 3, False),
            ],
            [
                (o['name'], o['group'], o['type'], o['default'], o['required'])
                for o in options
            ],
        )
        self.assertEqual(
            {
                'name': 'colour',
                'group': 'policy_colour',
                'type': 'string',
                'default': None,
                'required': True,
                'secret': False,
                'minimum': None,
                'maximum': 9,
                'regex': '[a-z]+',
                'aliases': ['color'],
                'help': 'The colour.',
            },
            options[0],
        )
        table = self.run_program('policy', 'show', 'colour').stdout
        for part in (
            '[policy_colour] depth (integer, default 3)',
            '[policy_colour] colour (string, required)',
        ):
            self.assertIn(part, table)

    def test_one_that_cannot_be_loaded_is_listed_and_shown_with_why(
        self,
    ) -> None:
        self.site.install('their-mess', 'import nonesuch_', {'mess': 'X'})
        self.site.install(
            'their-future',
            'class F(FilterPolicy): contract_version = 7',
            {'future': 'F'},
        )
        listed = {row['name']: row for row in self.json('policy', 'list')}
        for name, dist, cause in (
            ('mess', 'their-mess', 'nonesuch_'),
            ('future', 'their-future', 'contract version 7'),
        ):
            shown = self.json('policy', 'show', name)
            self.assertEqual(
                ('broken', dist, None),
                (shown['status'], shown['distribution'], shown['target']),
            )
            self.assertIn(cause, shown['remark'])
            self.assertEqual(shown['remark'], listed[name]['remark'])

    def test_backend_is_shown_with_its_guarantees(self) -> None:
        found = self.json('backend', 'show', 'db')
        self.assertEqual(
            ['persistent', 'shared', 'store_clock'], found['capabilities']
        )
        self.assertEqual((True, 'backend'), (found['selected'], found['kind']))

    def test_unknown_names_are_refused_with_what_is_near(self) -> None:
        for words, near in (
            (('policy', 'show', 'shard_kye'), 'shard_key'),
            (('backend', 'show', 'memroy'), 'memory'),
        ):
            done = self.run_program(*words)
            self.assertEqual((1, ''), (done.returncode, done.stdout))
            self.assertIn(near, done.stderr)


class TestCheck(_Case):
    def rows(self, *words: str, code: int) -> list[dict[str, Any]]:
        found = self.json('plugin', 'check', *words, code=code)
        keys = {'plugin', 'distribution', 'law', 'result', 'detail'}
        for row in found:
            self.assertEqual(keys, set(row))
            self.assertIn(row['result'], ('pass', 'fail', 'skipped'))
        return found

    def laws(self, *words: str, code: int) -> dict[str, dict[str, Any]]:
        return {row['law']: row for row in self.rows(*words, code=code)}

    def failed(self, *words: str) -> list[tuple[str, str]]:
        return [
            (row['plugin'], row['law'])
            for row in self.rows(*words, code=1)
            if row['result'] == 'fail'
        ]

    def test_good_policy_keeps_every_law(self) -> None:
        self.site.install('their-colours', GOOD, {'colour': 'Colour'})
        rows = self.rows('colour', '--option', 'color=red', code=0)
        self.assertNotIn('fail', {row['result'] for row in rows})
        self.assertEqual(
            {'their-colours 1.5'}, {row['distribution'] for row in rows}
        )
        (speed,) = (r for r in rows if r['law'] == 'speed is reported')
        self.assertIn('per 100,000 nodes', speed['detail'])
        self.assertEqual('pass', speed['result'])

    def test_broken_policy_breaks_its_law_with_exit_code_1(self) -> None:
        self.site.install('their-last', BAD, {'last': 'Last'})
        self.assertEqual(
            [('last', 'order of the members means nothing')],
            self.failed('last'),
        )

    def test_distribution_is_checked_with_all_of_its_plugins(self) -> None:
        both = {'colour': 'Colour', 'first': 'First'}
        self.site.install('Their-Colours', GOOD, both)
        rows = self.rows(
            'their_colours', '--option', 'colour.colour=red', code=0
        )
        self.assertEqual(set(both), {row['plugin'] for row in rows})

    def test_missing_and_wrong_options_are_told(self) -> None:
        self.site.install('their-colours', GOOD, {'colour': 'Colour'})
        for given, part in (
            ((), '--option colour.colour=VALUE'),
            (('--option', 'colour=RED'), 'colour=RED'),
            (('--option', 'colour=red', '--option', 'depth=0'), 'depth=0'),
        ):
            (row,) = self.rows('colour', *given, code=1)
            self.assertEqual('fail', row['result'])
            self.assertIn(part, row['detail'])

    def test_one_that_cannot_be_loaded_fails_with_the_cause(self) -> None:
        dist = self.site.install('their-mess', 'import nonesuch_', {'m': 'X'})
        (row,) = self.rows('m', code=1)
        self.assertEqual('it can be loaded', row['law'])
        for part in ('nonesuch_', dist):
            self.assertIn(part, row['detail'])

    def test_store_of_a_deployment_is_never_tried_by_accident(self) -> None:
        (row,) = self.rows('db', code=1)
        self.assertIn('--option db.connection=VALUE', row['detail'])
        lab = command_line.Deployment()
        self.addCleanup(lab.close)
        lab.serve('rack1', command_line.ALL)
        (row,) = self.rows('db', '--option', f'connection={lab.url}', code=1)
        self.assertEqual('its store can be used', row['law'])
        self.assertIn('rack1', row['detail'])

    def test_what_is_not_known_is_a_wrong_usage(self) -> None:
        self.site.install(
            'their-pair', GOOD, {'db': 'Colour', 'first': 'First'}
        )
        for words, part in (
            (('nosuch',), 'nosuch'),
            (('shard_kye',), 'shard_key'),
            (('db',), '--group'),
            (('first', '--group', 'backends'), 'first'),
            (('first', '--option', 'size=1'), 'size'),
            (('first', '--option', 'size'), 'NAME=VALUE'),
            (('first', '--member-ttl', '0'), '0'),
        ):
            done = self.run_program('plugin', 'check', *words)
            self.assertEqual((2, ''), (done.returncode, done.stdout), words)
            self.assertIn(part, done.stderr)

    def test_law_that_never_ends_is_named_and_the_others_are_checked(
        self,
    ) -> None:
        self.site.install('their-loop', HANGS, {'loop': 'Hangs'})
        nodes = self.site.file('nodes.json')
        uuid = '6f1c0c4e-8f0a-4b3f-9a53-5a1d6f0e2b77'
        nodes.write_text(json.dumps([{'UUID': uuid, 'Name': 'endless'}]))
        laws = self.laws(
            *('loop', '--nodes', str(nodes), '--time-limit', '3'), code=1
        )
        self.assertIn(
            'Hangs still runs after 3 s, in Hangs.admits',
            laws['every node gets an answer']['detail'],
        )
        self.assertEqual('pass', laws['remarks are lines']['result'])

    def test_source_is_read_and_its_snapshot_is_used(self) -> None:
        self.site.install('their-table', READS, {'reads': 'Reads'})
        table = self.site.file('table')
        words = 'reads', '--option', f'table={table}'
        law = "its source 'shards' can be read"
        found = self.laws(*words, code=1)
        self.assertIn('FileNotFoundError', found[law]['detail'])
        table.write_text('a')
        found = self.laws(*words, code=0)
        self.assertEqual('pass', found[law]['result'])
        self.assertRegex(
            found['admitted nodes are in the scope']['detail'],
            r'^admits [1-9]\d* of ',
        )

    def test_members_have_the_values_that_are_given(self) -> None:
        self.site.install('their-zones', ZONES, {'zones': 'Zones'})
        found = self.laws('zones', '--peer-value', 'zones.zone=hall-2', code=1)
        self.assertEqual(
            "zone: 'hall-1', 'hall-2'",
            found['members differ in their values']['detail'],
        )
        self.assertIn(
            "zones ['hall-1', 'hall-2']",
            found['every node gets an answer']['detail'],
        )
        wrong = self.run_program(
            *('plugin', 'check', 'zones', '--peer-value', 'zome=hall-2')
        )
        self.assertEqual(2, wrong.returncode, wrong.stdout)
        self.assertIn('zone', wrong.stderr)

    def test_import_that_never_ends_breaks_a_law(self) -> None:
        self.site.install(
            'their-sleep', 'import time; time.sleep(600)', {'sleep': 'Any'}
        )
        (row,) = self.rows('sleep', code=1)
        self.assertEqual('it can be loaded', row['law'])
        self.assertIn('its import has not ended', row['detail'])
        self.assertIn('their-sleep', row['detail'])


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
        (row,) = (
            row
            for row in json.loads(done.stdout)
            if row['law'] == 'admitted nodes are in the scope'
        )
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
