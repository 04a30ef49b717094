"""The console in a real browser: sign-in, and each action with its rights.

Behind it are a real Keystone, HTTP service and Ironic.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import sys
import threading
import time
from collections.abc import Callable

from selenium.common.exceptions import NoSuchElementException
from selenium.webdriver.common.by import By

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventFilter, EventKind
from ironic_ownership.contracts.moves import Move, NodeMove
from ironic_ownership.db.heartbeats import DatabaseBackend
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership_console import actions
from lab import process
from tests.functional.support import chromium, command_line
from tests.functional.test_api_keystone import _KeystoneCase

_INTERRUPTED = 'req-00000000-0000-4000-8000-000000000007'
_REASON = {'reason': 'CHG-7'}


@dataclasses.dataclass(frozen=True)
class Step:
    """One action, and the proof that it was carried out.

    :param before: what has to happen first.
    """

    action: str
    target: str
    is_done: Callable[[], object]
    fields: dict[str, str] = dataclasses.field(default_factory=dict)
    before: Callable[[], object] = lambda: None


class ConsoleTest(_KeystoneCase, chromium.PagesCase):
    """``old`` is stopped and owns six nodes, ``new`` is alive."""

    nodes_of_each = 3
    # A release lasts for a third of it.
    options = '[membership]\nmember_ttl = 45'

    def setUp(self) -> None:
        super().setUp()
        self.beat_on('new')
        self.driver = chromium.start()
        self.addCleanup(self.driver.quit)
        self.size(1280)
        port = process.free_port()
        program = 'ironic-ownership-console'
        console = process.Process(
            [
                str(pathlib.Path(sys.executable).with_name(program)),
                *('--endpoint', self.api.url),
                *('--auth-url', self.keystone.url),
                *('--port', str(port)),
            ],
            self.lab.directory / 'console.log',
        ).start()
        self.addCleanup(console.stop)
        process.wait_for(lambda: process.answers_tcp(port), 'console')
        self.site = f'http://127.0.0.1:{port}'

    def beat_on(self, host: str) -> None:
        """Let a service stay alive."""
        stopped = threading.Event()

        def beat() -> None:
            while not stopped.wait(1):
                self.lab._members[host].beat()

        beating = threading.Thread(target=beat)
        beating.start()
        self.addCleanup(beating.join)
        self.addCleanup(stopped.set)

    def test_who_signs_in_has_the_rights_of_its_token(self) -> None:
        steps = self.steps()
        self.assertEqual(
            actions.BY_NAME.keys(), {step.action for step in steps}
        )
        self.assertIn('is wrong', self.sign_in('rita', 'wrong'))
        self.assertIn('Services', self.sign_in('rita'))
        self.assert_token_is_out_of_reach()
        self.assert_reader_changes_nothing(steps)
        self.sign_out()
        self.driver.get(f'{self.site}/nodes')
        self.assertIn('Password', self.text())
        # A project of a customer has no rights at all.
        self.assertIn(
            'not allowed', self.sign_in('mary', project='admin').lower()
        )
        self.sign_out()
        self.sign_in('admin')
        self.assert_each_action_is_carried_out_and_recorded(steps)
        self.assert_every_page_is_whole()

    def assert_token_is_out_of_reach(self) -> None:
        script = 'return document.cookie'
        self.assertEqual('', self.driver.execute_script(script))
        (cookie,) = self.driver.get_cookies()
        self.assertTrue(cookie['secure'] and cookie['httpOnly'], cookie)

    def assert_reader_changes_nothing(self, steps: tuple[Step, ...]) -> None:
        before = self.owners(), self.rows()
        for step in steps:
            self.propose(step, step.target or _INTERRUPTED)
            error = self.driver.find_element(By.CSS_SELECTOR, '[role=alert]')
            self.assertIn('does not allow it', error.text, step.action)
            self.assertNotIn('value="execute"', self.driver.page_source)
        self.assertEqual(before, (self.owners(), self.rows()))

    def assert_each_action_is_carried_out_and_recorded(
        self, steps: tuple[Step, ...]
    ) -> None:
        for step in steps:
            step.before()
            self.propose(step, step.target or self.pause().request_id)
            before = self.driver.current_url
            self.press('execute')
            chromium.wait(
                self.driver,
                lambda before=before: self.driver.current_url != before,
                f'{step.action}: {self.text()}',
            )
            result = self.driver.find_element(By.CSS_SELECTOR, '[role=status]')
            self.assertRegex(result.text, r': (done|it runs)\.')
            self.assertTrue(step.is_done(), step.action)
        found = [
            event
            for event in reversed(self.lab.records.events())
            if re.fullmatch('[0-9a-f]{32}@all', event.actor)
        ]
        self.assertEqual(
            [
                *('service_fenced', 'node_moved', 'node_handed_over'),
                *('node_forgotten', 'node_moved', 'node_moved'),
                *('service_deleted', 'service_failed_over'),
                *('service_changed', 'service_changed'),
                *('service_forced_down', 'service_changed'),
                *('pause_began', 'pause_ended'),
            ],
            [event.kind for event in found],
        )
        self.assertEqual(
            [], [e for e in found if 'CHG-7' not in str(e.reason)]
        )

    def assert_every_page_is_whole(self) -> None:
        """Visit each page of a deployment with a past."""
        node, *_ = self.nodes
        script = "return document.querySelectorAll('.error-card').length"
        for path in (
            '/',
            '/fleet',
            '/nodes',
            f'/nodes/{node}',
            '/services',
            '/services/new',
            '/what-if?without=new',
            '/what-if?a=all&b=shard_key&options=shard_key=a',
            '/moves',
            f'/moves/{_INTERRUPTED}',
            '/events',
            '/act/pause',
        ):
            self.visit(path)
            self.assertEqual(0, self.driver.execute_script(script), path)
            self.assert_all_can_use(path, 1280)

    def steps(self) -> tuple[Step, ...]:
        moved, resumed, released, gone, *rest = self.nodes
        return (
            Step(
                *('move', moved, self.is_owned(moved, 'new')),
                {'service': 'new', **_REASON},
            ),
            Step(
                *('resume-move', _INTERRUPTED, self.is_owned(resumed, 'new')),
                *(_REASON, lambda: self.interrupt_move(resumed)),
            ),
            Step(
                *('release', released, self.is_owned(released, None)),
                _REASON,
            ),
            Step(
                *('delete', gone, lambda: gone not in self.owners()),
                _REASON,
                before=lambda: self.enrolment.delete(gone),
            ),
            Step('drain', 'old', self.is_owned(rest[-1], 'new'), _REASON),
            Step(
                *('delete-service', 'old', lambda: 'old' not in self.rows()),
                _REASON,
            ),
            Step(
                *('failover', 'new', self.has_failed_over),
                _REASON,
                before=self.stand_by,
            ),
            Step(
                *('disable', 'new', lambda: self.rows()['new'].disabled),
                _REASON,
            ),
            Step(
                'enable',
                'new',
                lambda: not self.rows()['new'].disabled,
                _REASON,
            ),
            Step(
                'down', 'new', lambda: self.rows()['new'].forced_down, _REASON
            ),
            Step(
                'up',
                'new',
                lambda: not self.rows()['new'].forced_down,
                _REASON,
            ),
            Step(
                *('pause', '-', lambda: self.pause().reason == 'CHG-7'),
                _REASON,
            ),
            Step('resume-pause', '', lambda: not self.lab.records.pauses()),
        )

    def sign_in(self, user: str, password: str = '', project: str = '') -> str:
        """Fill in the form; return the text of the page that follows."""
        self.driver.get(self.site)
        for name, text in (
            ('user', user),
            ('password', password or user),
            ('project', project),
        ):
            field = self.driver.find_element(By.NAME, name)
            field.clear()
            field.send_keys(text)
        form = self.driver.find_element(By.CSS_SELECTOR, '.signin')
        form.find_element(By.TAG_NAME, 'button').click()
        chromium.wait(
            self.driver,
            lambda: self.driver.find_elements(
                By.CSS_SELECTOR, '.who, [role=alert]'
            ),
            'the next page',
        )
        return self.text()

    def sign_out(self) -> None:
        self.driver.find_element(By.CSS_SELECTOR, '.who button').click()
        chromium.wait(
            self.driver, lambda: 'Password' in self.text(), 'the form'
        )

    def propose(self, step: Step, target: str) -> None:
        """Fill in the form, and read the proposal."""
        path = f'/act/{step.action}'
        if step.action != 'pause':
            path += f'/{target}'
        self.driver.get(f'{self.site}{path}')
        for name, text in step.fields.items():
            self.driver.find_element(By.NAME, name).send_keys(text)
        if actions.BY_NAME[step.action].fields:
            self.press('propose')

    def press(self, step: str) -> None:
        try:
            self.driver.find_element(
                By.CSS_SELECTOR, f'[name=step][value={step}]'
            ).click()
        except NoSuchElementException:
            self.fail(f'no button to {step}: {self.text()}')

    def is_owned(self, node: str, host: str | None) -> Callable[[], bool]:
        return lambda: self.owners()[node] == host

    def rows(self) -> dict[str, model.Service]:
        return {row.host: row for row in self.lab.records.services()}

    def pause(self):
        (pause,) = self.lab.records.pauses()
        return pause

    def interrupt_move(self, node: str) -> None:
        """Store a move as one whose process was killed."""
        order = Move(_INTERRUPTED, 'new', 'test', 'CHG-7')
        nodes = [NodeMove(node, 'old', self.rows()['old'].epoch)]
        SqlMoves(self.lab._database).plan(order, nodes)

    def stand_by(self) -> None:
        """Start a process of ``new`` that registers when it is named."""
        member = DatabaseBackend(
            {'connection': self.lab.url}, member_ttl=3600, call_timeout=30
        )
        self.addCleanup(member.close)
        member.join('new', 'standby', command_line.ALL)

        def register() -> None:
            while not self.has_failed_over():
                time.sleep(0.1)
            self.lab.records.register(
                'new', command_line.ALL, incarnation='standby'
            )

        threading.Thread(target=register, daemon=True).start()

    def has_failed_over(self) -> bool:
        kinds = [EventKind.SERVICE_FAILED_OVER.value]
        return bool(self.lab.records.events(EventFilter(kinds=kinds), limit=1))
