"""Sources of policies in real host processes, in good order and in bad."""

from __future__ import annotations

import json

from tests.functional.support import hosts, plugin_packages

NAMED = "the source 'shards' of policy 'tabled' from their-table 1.5"
TABLED = """
    import pathlib
    from ironic_ownership.contracts import Source

    def read(options):
        text = pathlib.Path(options['table']).read_text()
        if text == 'exits':
            raise SystemExit(0)
        while text == 'hangs':
            time.sleep(0.05)
            text = pathlib.Path(options['table']).read_text()
        if text == 'garbage':
            return object()
        return tuple(sorted(text.split()))

    class Tabled(FilterPolicy):
        contract_version = 2
        options = (
            Option('table', OptionType.STRING, 'A file.', required=True),
        )
        sources = (
            Source('shards', read, 'Shards.', interval=1, timeout=1),
        )

        def admits(self, node):
            return node.shard in (self._settings['shards'] or ())
"""


class TestSources(hosts.HostsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.Site()
        self.table = self.site.file('table')
        self.site.install('their-table', TABLED, {'tabled': 'Tabled'})
        self.deployment.environment = self.site.environment
        self.owners: dict[str, str | None] = {}

    def write(self, text: str) -> None:
        """Replace the table, all at once."""
        new = self.table.with_suffix('.new')
        new.write_text(text)
        new.rename(self.table)

    def enrol(self, shard: str, owner: str) -> None:
        uuids = self.enrolment.enrol(1, shard=shard)
        self.owners |= dict.fromkeys(uuids, owner)

    def error(self) -> str:
        reports = self.deployment.records.condition_reports()
        return ' '.join(
            one.error
            for host, report in reports.items()
            for one in report.failing
            if (host, one.loop) == ('host1', 'sources')
        )

    def test_source_that_fails_hurts_its_own_service_only(self) -> None:
        other = self.deployment.start(
            'host2', 'shard_key', ironic={'shard_key': 'other'}
        )
        host = self.deployment.start(
            'host1', 'tabled', policy_tabled={'table': self.table}
        )
        # A service that has not read its source does not join.
        waiting = self.enrolment.enrol(1, shard='rack1')
        self.enrol('other', 'host2')
        self.deployment.wait_until(
            lambda: host.lines(f'waiting to start: {NAMED}'), 'wait'
        )
        self.deployment.wait_for_owners(self.owners)
        self.assertEqual({'host2'}, self.deployment.members())
        self.write('rack1')
        self.owners |= dict.fromkeys(waiting, 'host1')
        self.deployment.wait_for_owners(self.owners)
        for fault, words in (
            ('exits', 'SystemExit'),
            ('hangs', 'has not been read after 1 s'),
            ('garbage', 'it returned a object'),
        ):
            self.write(fault)
            self.deployment.wait_until(
                lambda expected=words: expected in self.error(), words
            )
            self.assertIn(NAMED, self.error())
            # All go on, with the last snapshot.
            self.enrol('rack1', 'host1')
            self.enrol('other', 'host2')
            self.deployment.wait_for_owners(self.owners)
        # By any command, also where the package is not installed.
        done = self.deployment.operate('check', '--long', '-f', 'json')
        (problem,) = (
            found
            for found in json.loads(done.stdout)
            if found['code'] == 'sources_stalled'
        )
        self.assertIn(NAMED, problem['what'])
        self.write('rack1 rack2')
        self.enrol('rack2', 'host1')
        self.deployment.wait_for_owners(self.owners)
        self.deployment.wait_until(lambda: not self.error(), 'no error')
        for one in (host, other):
            self.assertEqual(0, one.terminate())
