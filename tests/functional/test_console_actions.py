"""Each action of the console in a real browser, with a real Ironic."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import threading
import time
from collections.abc import Callable

from selenium.common.exceptions import NoSuchElementException
from selenium.webdriver.common.by import By

from ironic_ownership.backends.db import DatabaseBackend
from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventFilter, EventKind
from ironic_ownership.contracts.moves import Move, NodeMove
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership_console import actions
from lab import process
from tests.functional.support import api_process, chromium, command_line

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


class ActionsTest(api_process.ApiCase):
    """``old`` is stopped and owns six nodes, ``new`` is alive."""

    nodes_of_each = 3

    def setUp(self) -> None:
        super().setUp()
        config = self.configure()
        # A release lasts for a third of it.
        config.write_text(
            config.read_text().replace('member_ttl = 3600', 'member_ttl = 45')
        )
        self.beat_on('new')
        api = self.run_server(api_process.program(config, self.log))
        port = process.free_port()
        program = pathlib.Path(sys.executable).with_name(
            'ironic-ownership-console'
        )
        console = process.Process(
            [str(program), '--endpoint', api.url, '--port', str(port)],
            self.lab.directory / 'console.log',
        ).start()
        self.addCleanup(console.stop)
        process.wait_for(lambda: process.answers_tcp(port), 'console')
        self.site = f'http://127.0.0.1:{port}'
        self.driver = chromium.start()
        self.addCleanup(self.driver.quit)

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

    def test_each_action_is_carried_out_and_recorded(self) -> None:
        steps = self.steps()
        self.assertEqual(
            actions.BY_NAME.keys(), {step.action for step in steps}
        )
        for step in steps:
            step.before()
            target = step.target or self.pause().request_id
            if step.action == 'pause':
                target = ''
            self.act(step, target)
            self.assertTrue(step.is_done(), step.action)

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
                before=lambda: self.enrolment.delete(gone),
            ),
            Step('drain', 'old', self.is_owned(rest[-1], 'new'), _REASON),
            Step('delete-service', 'old', lambda: 'old' not in self.rows()),
            Step(
                *('failover', 'new', self.has_failed_over),
                before=self.stand_by,
            ),
            Step(
                *('disable', 'new', lambda: self.rows()['new'].disabled),
                _REASON,
            ),
            Step('enable', 'new', lambda: not self.rows()['new'].disabled),
            Step('down', 'new', lambda: self.rows()['new'].forced_down),
            Step('up', 'new', lambda: not self.rows()['new'].forced_down),
            Step(
                *('pause', '-', lambda: self.pause().reason == 'CHG-7'),
                _REASON,
            ),
            Step('resume-pause', '', lambda: not self.lab.records.pauses()),
        )

    def act(self, step: Step, target: str) -> None:
        """Fill in the form, read the proposal, and execute it."""
        self.driver.get(f'{self.site}/act/{step.action}/{target}'.rstrip('/'))
        for name, text in step.fields.items():
            self.driver.find_element(By.NAME, name).send_keys(text)
        if actions.BY_NAME[step.action].fields:
            self.press('propose')
        before = self.driver.current_url
        self.press('execute')
        chromium.wait(
            self.driver,
            lambda: self.driver.current_url != before,
            f'{step.action}: {self.text()}',
        )
        self.assertRegex(self.text(), r': (done|it runs)\.')

    def press(self, step: str) -> None:
        try:
            self.driver.find_element(
                By.CSS_SELECTOR, f'[name=step][value={step}]'
            ).click()
        except NoSuchElementException:
            self.fail(f'no button to {step}: {self.text()}')

    def text(self) -> str:
        return str(
            self.driver.execute_script('return document.body.innerText')
        )

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
