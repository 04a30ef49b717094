"""Real conductors die one by one: what becomes of the nodes."""

from __future__ import annotations

import itertools
import json
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventFilter
from tests.functional.support import (
    command_line,
    conductors,
    hosts,
    ironics,
    laws,
)

OUT = 'out_of_service'


class TestConductors(conductors.ConductorsCase):
    """One service at work owns a node of each conductor."""

    def setUp(self) -> None:
        super().setUp()
        self.of_plain = self.enrol()
        self.of_grouped = self.enrol(group='g1')
        self.of_manual = self.enrol(conductors.MANUAL)
        self.deployment = hosts.Deployment(self.ironic.endpoint)
        self.deployment.more = {'ownership': {'recovery_delay': 3}}
        self.addCleanup(self.deployment.close)
        self.addCleanup(self.assert_lawful)
        self.addCleanup(self.deployment.stop)
        self.host = self.deployment.start(
            'host1', 'all', DEFAULT={'host': 'host1', 'debug': True}
        )
        nodes = self.of_plain, self.of_grouped, self.of_manual
        self.deployment.wait_for_owners(dict.fromkeys(nodes, 'host1'))

    def assert_lawful(self) -> None:
        self.assertEqual([], laws.violations(self.deployment.records))

    def codes(self) -> dict[str, str | None]:
        records = self.deployment.records.compute_nodes()
        return {record.uuid: record.unavailable for record in records}

    def wait_for_code(self, uuid: str, code: str | None) -> None:
        self.deployment.wait_until(
            lambda: self.codes()[uuid] == code, f'{uuid} {code}'
        )

    def run_program(self, *words: str) -> command_line.Done:
        return command_line.run('--config-file', str(self.host.config), *words)

    def json(self, *words: str, code: int = 0) -> Any:
        done = self.run_program(*words, '-f', 'json')
        self.assertEqual(code, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_they_die_one_by_one_and_come_back(self) -> None:
        self.manual.kill()
        self.wait_for_code(self.of_manual, OUT)
        self.client_lists_the_dead()
        self.assertEqual(
            {
                self.of_plain: None,
                self.of_grouped: None,
                self.of_manual: OUT,
            },
            self.codes(),
        )
        self.refused(self.of_manual, conductors.MANUAL, self.manual.hostname)
        self.grouped.kill()
        self.wait_for_code(self.of_grouped, OUT)
        self.listed(self.of_manual, self.of_grouped)
        self.plain.kill()
        self.all_gone()
        self.revive(self.grouped)
        self.wait_for_code(self.of_grouped, None)
        self.assertEqual(OUT, self.codes()[self.of_plain])
        self.revive(self.plain, self.manual)
        self.wait_for_code(self.of_plain, None)
        self.wait_for_code(self.of_manual, 'provision_state')
        self.tells_each_change_once()

    def client_lists_the_dead(self) -> None:
        bare_metal = ironics.open_ironic(self.ironic.endpoint, page_size=1)
        self.assertEqual(
            {
                model.Conductor(name, group, frozenset({driver}), alive=alive)
                for name, group, driver, alive in (
                    (self.plain.hostname, '', conductors.FAKE, True),
                    (self.grouped.hostname, 'g1', conductors.FAKE, True),
                    (self.manual.hostname, '', conductors.MANUAL, False),
                )
            },
            set(bare_metal.conductors()),
        )

    def refused(self, uuid: str, *words: str) -> None:
        """To act on a node out of service is a clear error."""
        done = self.run_program('compute', 'node', 'check-action', uuid)
        self.assertEqual((3, ''), (done.returncode, done.stdout), done)
        self.assertEqual(1, len(done.stderr.splitlines()))
        for word in (uuid, *words):
            self.assertIn(word, done.stderr)
        (allowed,) = self.json(
            'compute', 'node', 'check-action', self.of_plain, '-c', 'service'
        ).values()
        self.assertEqual('host1', allowed)

    def listed(self, *uuids: str) -> None:
        """List, show and check name the nodes out of service."""
        for state, expected in (
            ('out-of-service', set(uuids)),
            ('available', {self.of_plain}),
        ):
            rows = self.json('compute', 'node', 'list', '--state', state)
            self.assertEqual(expected, {row['uuid'] for row in rows})
        shown = self.json('compute', 'node', 'show', uuids[0])
        self.assertEqual(
            (OUT, OUT), (shown['unavailable'], shown['recorded_unavailable'])
        )
        self.assertIsNotNone(shown['unavailable_since'])
        problems = self.json('check', '--long', code=4)
        found = [p for p in problems if p['code'] == OUT]
        self.assertEqual(set(uuids), {u for p in found for u in p['subjects']})
        self.assertIn(self.manual.hostname, str(found))

    def all_gone(self) -> None:
        """No conductor is alive: logged once, and all nodes are out."""
        self.wait_for_code(self.of_plain, OUT)
        before = len(self.host.lines('refreshed: '))
        # One of them may have begun before.
        self.deployment.wait_until(
            lambda: len(self.host.lines('refreshed: ')) > before + 3,
            'refreshes',
        )
        self.assertEqual({OUT}, set(self.codes().values()))
        self.assertEqual(1, len(self.host.lines('none of the conductors')))
        codes = {p['code'] for p in self.json('check', code=4)}
        self.assertIn('no_conductor', codes)
        self.assertNotIn(OUT, codes)

    def tells_each_change_once(self) -> None:
        """Each event begins where the one before ended."""
        for uuid in (self.of_plain, self.of_grouped, self.of_manual):
            found = self.deployment.records.events(
                EventFilter(node_uuid=uuid), limit=1000
            )
            changes = [
                str(event.reason).partition(':')[0].split(' -> ')
                for event in reversed(found)
                if event.kind == 'availability_changed'
            ]
            self.assertGreaterEqual(len(changes), 2)
            for before, after in itertools.pairwise(changes):
                self.assertEqual(before[1], after[0], changes)
                self.assertNotEqual(*after)
            self.assertIn(OUT, changes[0][1])
