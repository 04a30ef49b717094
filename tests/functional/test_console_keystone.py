"""The console in a real browser: sign-in, and actions with their rights.

Behind it are a real Keystone, HTTP service and Ironic. Here are the actions
that need a deployment; ``tests/unit/console/test_actions.py`` has the others.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import sys
import threading
import time
from collections.abc import Callable

from selenium.webdriver.common.by import By

from ironic_ownership.contracts.events import EventFilter, EventKind
from ironic_ownership.contracts.moves import Move, NodeMove
from ironic_ownership.db.heartbeats import DatabaseBackend
from ironic_ownership.db.moves import SqlMoves
from lab import process
from tests.functional.support import chromium, command_line
from tests.functional.test_api_keystone import KeystoneCase

_INTERRUPTED = 'req-00000000-0000-4000-8000-000000000007'


@dataclasses.dataclass(frozen=True)
class Step:
    """One action, and the proof that it was carried out.

    :param before: what has to happen first.
    """

    path: str
    is_done: Callable[[], object]
    before: Callable[[], object] = lambda: None
    fields: dict[str, str] = dataclasses.field(default_factory=dict)


class ConsoleTest(KeystoneCase, chromium.PagesCase):
    """``old`` is stopped and owns six nodes, ``new`` is alive."""

    nodes_of_each = 3

    def setUp(self) -> None:
        super().setUp()
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

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.lab.records.compute_nodes()}

    def test_who_signs_in_has_the_rights_of_its_token(self) -> None:
        steps = self.steps()
        self.assertIn('is wrong', self.sign_in('rita', 'wrong'))
        self.assertIn('Services', self.sign_in('rita'))
        script = 'return document.cookie'
        self.assertEqual('', self.driver.execute_script(script))
        (cookie,) = self.driver.get_cookies()
        self.assertTrue(cookie['secure'] and cookie['httpOnly'], cookie)
        self.assert_reader_changes_nothing(steps)
        self.sign_out()
        self.visit('/nodes')
        self.assertIn('Password', self.text())
        # A project of a customer has no rights at all.
        self.assertIn(
            'not allowed', self.sign_in('mary', project='admin').lower()
        )
        self.sign_out()
        self.sign_in('admin')
        self.assert_each_action_is_carried_out_and_recorded(steps)
        for path in ('/', f'/moves/{_INTERRUPTED}', '/services/new'):
            self.visit(path)
            self.assert_all_can_use(path, 1280)

    def assert_reader_changes_nothing(self, steps: tuple[Step, ...]) -> None:
        before = self.owners(), self.lab.records.services()
        for step in steps:
            self.propose(step)
            error = self.driver.find_element(By.CSS_SELECTOR, '[role=alert]')
            self.assertIn('does not allow it', error.text, step.path)
            self.assertNotIn('value="execute"', self.driver.page_source)
        self.assertEqual(before, (self.owners(), self.lab.records.services()))

    def assert_each_action_is_carried_out_and_recorded(
        self, steps: tuple[Step, ...]
    ) -> None:
        for step in steps:
            step.before()
            self.propose(step)
            before = self.driver.current_url
            self.press('execute')
            self.wait(
                lambda before=before: self.driver.current_url != before,
                f'{step.path}: {self.text()}',
            )
            result = self.driver.find_element(By.CSS_SELECTOR, '[role=status]')
            self.assertRegex(result.text, r': (done|it runs)\.')
            self.assertTrue(step.is_done(), step.path)
        found = [
            event
            for event in reversed(self.lab.records.events())
            if re.fullmatch('[0-9a-f]{32}@all', event.actor)
        ]
        self.assertEqual(
            [
                # A move that is resumed has the actor who began it.
                *('service_fenced', 'node_moved', 'node_forgotten'),
                *('service_failed_over', 'pause_began'),
            ],
            [event.kind for event in found],
        )
        for event in found:
            self.assertIn('CHG-7', str(event.reason))

    def steps(self) -> tuple[Step, ...]:
        moved, resumed, gone, *_ = self.nodes
        return (
            Step(
                f'/act/move/{moved}',
                lambda: self.owners()[moved] == 'new',
                fields={'service': 'new'},
            ),
            Step(
                f'/act/resume-move/{_INTERRUPTED}',
                lambda: self.owners()[resumed] == 'new',
                lambda: self.interrupt_move(resumed),
            ),
            Step(
                f'/act/delete/{gone}',
                lambda: gone not in self.owners(),
                lambda: self.enrolment.delete(gone),
            ),
            Step('/act/failover/new', self.has_failed_over, self.stand_by),
            Step('/act/pause', self.lab.records.pauses),
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
        self.wait(
            lambda: self.driver.find_elements(
                By.CSS_SELECTOR, '.who, [role=alert]'
            ),
            'the next page',
        )
        return self.text()

    def sign_out(self) -> None:
        self.driver.find_element(By.CSS_SELECTOR, '.who button').click()
        self.wait(lambda: 'Password' in self.text(), 'the form')

    def propose(self, step: Step) -> None:
        """Fill in the form, and read the proposal."""
        self.visit(step.path)
        for name, text in {**step.fields, 'reason': 'CHG-7'}.items():
            self.driver.find_element(By.NAME, name).send_keys(text)
        self.press('propose')

    def press(self, step: str) -> None:
        self.driver.find_element(
            By.CSS_SELECTOR, f'[name=step][value={step}]'
        ).click()

    def interrupt_move(self, node: str) -> None:
        """Store a move as one whose process was killed."""
        order = Move(_INTERRUPTED, 'new', 'test', 'CHG-7')
        rows = {row.host: row for row in self.lab.records.services()}
        nodes = [NodeMove(node, 'old', rows['old'].epoch)]
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
