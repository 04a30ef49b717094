"""Actions: the proposal with each gate, then the execution."""

from __future__ import annotations

import html
import re
from unittest import mock

from ironic_ownership.engine.changes import moves
from tests.unit.cli import command_case
from tests.unit.console import console_case
from tests.unit.engine import world


class ActionsTest(console_case.ConsoleCase):
    def execute(self, path: str, **form: str) -> str:
        """Ask for the proposal, and execute it as a browser does."""
        page = self.send(path, step='propose', **form)
        proposed = re.search(r'name="proposed" value="([^"]*)"', page)
        assert proposed, page
        return self.send(
            path,
            303,
            step='execute',
            proposed=html.unescape(proposed[1]),
            **form,
        )

    def test_proposal_shows_each_gate_and_changes_nothing(self) -> None:
        page = self.send(
            f'/act/move/{world.uuid(1)}',
            step='propose',
            service='new',
            reason='CHG-1',
        )
        self.assertIn('destination admits', page)
        self.assertIn('planned: old → new', page)
        self.assertIn('value="execute"', page)
        self.assertEqual('old', self.owner(1))
        # A form that changed since is proposed again.
        form = {'service': 'new', 'reason': 'CHG-1'}
        path = f'/act/move/{world.uuid(1)}'
        page = self.send(path, step='execute', proposed='{"x": 1}', **form)
        self.assertIn('Proposal', page)
        self.assertEqual('old', self.owner(1))
        self.execute(path, **form)
        self.assertEqual('new', self.owner(1))
        self.assertIn('Move ', self.page('/moves'))
        self.assertIn('CHG-1', self.page('/moves'))

    def test_result_is_shown_once_and_on_a_whole_page(self) -> None:
        self.execute('/act/disable/new', reason='CHG-1')
        # What another tab reads again would not show it.
        part = self.page('/', headers={'HX-Request': 'true'})
        self.assertNotIn('role="status"', part)
        self.assertIn('role="status"', self.page('/services/new'))
        self.assertNotIn('role="status"', self.page('/services/new'))

    def test_gate_that_fails_has_its_hint_and_no_button(self) -> None:
        page = self.send('/act/failover/new', step='propose', reason='x')
        self.assertIn('no process stands by for new', page)
        self.assertRegex(page, 'Start .*ironic-ownership-host<')
        self.assertNotIn('value="execute"', page)
        page = self.send('/act/delete-service/old', step='propose', reason='x')
        self.assertIn('6 left', page)
        self.assertNotIn('value="execute"', page)
        page = self.send(
            f'/act/delete/{world.uuid(3)}', step='propose', reason='x'
        )
        self.assertIn('Ironic has the node', page)
        self.assertNotIn('value="execute"', page)
        self.send('/act/failover/new', 409, step='execute', proposed='{}')

    def test_each_form_leads_back_to_its_target(self) -> None:
        for form, target in (
            ('move/x', '/nodes/x'),
            ('drain/old', '/services/old'),
            ('delete-service/old', '/services/old'),
            ('resume-move/req-1', '/moves/req-1'),
            ('pause', '/'),
        ):
            page = self.page(f'/act/{form}')
            self.assertIn(f'<a href="{target}">Cancel</a>', page)

    def test_what_is_so_already_has_no_button(self) -> None:
        form = {'service': 'old', 'reason': 'CHG-1'}
        for page in (
            self.send(f'/act/move/{world.uuid(1)}', step='propose', **form),
            self.send('/act/enable/new', step='propose', reason='CHG-1'),
        ):
            self.assertIn('Nothing would change', page)
            self.assertNotIn('value="execute"', page)

    def test_gates_that_passed_are_folded_for_several_nodes(self) -> None:
        self.change_node(2, reservation='conductor-1')
        page = self.send('/act/drain/old', step='propose', reason='CHG-1')
        self.assertIn('6 in all, 1 refused by a gate', page)
        self.assertEqual(5, page.count('<summary>14 passed</summary>'))
        self.assertEqual(1, page.count('<summary>13 passed</summary>'))
        self.assertEqual(1, page.count('<span class="mark error">'))

    def test_result_of_a_drain_is_that_of_its_moves(self) -> None:
        del self.ironic.nodes[world.uuid(2)]
        page = self.send('/act/drain/old', step='propose', reason='CHG-1')
        self.assertIn('6 in all, 1 refused by a gate', page)
        self.assertIn('Ironic answers 404 for its uuid', page)
        self.assertNotIn('value="execute"', page)
        form = {'reason': 'CHG-1', 'skip_invalid': 'on'}
        with mock.patch.object(moves, 'BATCH', 2):
            self.execute('/act/drain/old', **form)
        self.assertIn('Drain old: it runs.', self.page('/'))
        command_case.join()
        self.execute('/act/drain/old', **form)
        self.assertIn('Drain old: 0 of 1 done.', self.page('/'))

    def test_service_is_disabled_enabled_and_forced_down(self) -> None:
        def row():
            return {s.host: s for s in self.records.services()}['new']

        self.execute('/act/disable/new', reason='new cables')
        self.assertEqual('new cables', row().disabled_reason)
        self.execute('/act/enable/new')
        self.assertFalse(row().disabled)
        self.execute('/act/down/new', reason='its rack burns')
        self.assertTrue(row().forced_down)
        (event,) = self.records.events(limit=1)
        self.assertIn('its rack burns', str(event.reason))
        self.execute('/act/up/new')
        self.assertFalse(row().forced_down)

    def test_deletion_states_its_reason(self) -> None:
        self.execute(f'/act/release/{world.uuid(2)}', reason='policies')
        self.assertIsNone(self.owner(2))
        self.execute('/act/drain/old', reason='it left')
        self.assertEqual('new', self.owner(6))
        self.execute('/act/delete-service/old', reason='CHG-9')
        (event,) = self.records.events(limit=1)
        self.assertEqual('service_deleted', event.kind)
        self.assertTrue(str(event.reason).endswith('; CHG-9'), event)

    def test_pause_begins_and_ends(self) -> None:
        form = {'step': 'propose', 'minutes': '0', 'reason': 'x'}
        page = self.send('/act/pause', 400, **form)
        self.assertIn('role="alert"', page)
        self.execute('/act/pause', minutes='30', reason='switches', shard='a')
        (pause,) = self.records.pauses()
        self.assertRegex(
            self.page('/'), 'paused in shard a until .*: switches'
        )
        self.execute(f'/act/resume-pause/{pause.request_id}')
        self.assertEqual([], [*self.records.pauses()])
