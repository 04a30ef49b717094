"""The console in a real Chromium: each page, its actions, and its changes.

The HTTP service behind it is the real one, over a fake Ironic. axe-core, which
is in ``support/axe`` with its licence, looks for what people cannot use.
"""

from __future__ import annotations

import json
import os
import pathlib
import urllib.request
from collections.abc import Callable
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from ironic_ownership_console import app
from ironic_ownership_console.service import Service
from tests.functional.support import chromium, served
from tests.unit.engine import world

_AXE = pathlib.Path(__file__).parent / 'support' / 'axe' / 'axe.min.js'
_SHOTS = os.environ.get('CONSOLE_SCREENSHOTS')
"""A directory that keeps a picture of each page."""

_PATHS = (
    '/',
    '/fleet',
    '/nodes',
    f'/nodes/{world.uuid(1)}?deletion=1',
    '/services',
    '/services/old?drain=1',
    '/what-if?without=new',
    '/what-if?a=all&b=shard_key&options=shard_key=a',
    '/moves',
    '/events',
    '/act/pause',
    f'/act/move/{world.uuid(1)}',
    '/act/failover/new',
    '/services/none',
)


class ConsoleTest(served.ServedCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.driver = chromium.start()
        cls.addClassCleanup(cls.driver.quit)

    def setUp(self) -> None:
        super().setUp()
        self.site = self.serve(app.build(Service(self.api)))
        self.size(1280)
        self.command('Emulation.setScriptExecutionDisabled', value=False)
        self.driver.get_log('browser')  # of the test before

    def command(self, name: str, **given: Any) -> None:
        self.driver.execute_cdp_cmd(name, given)

    def size(self, width: int, colours: str = 'light') -> None:
        self.command(
            'Emulation.setDeviceMetricsOverride',
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.command(
            'Emulation.setEmulatedMedia',
            features=[{'name': 'prefers-color-scheme', 'value': colours}],
        )

    def visit(self, path: str) -> None:
        self.driver.get(f'{self.site}{path}')

    def wait(self, until: Callable[[], object], what: str) -> None:
        chromium.wait(self.driver, until, what)

    def text(self) -> str:
        # A part may be replaced while it is read.
        script = 'return document.body.innerText'
        found: str = self.driver.execute_script(script)
        return found

    def drawn(self) -> str | None:
        script = 'return document.getElementById("map").dataset.drawn'
        found: str | None = self.driver.execute_script(script)
        return found

    def errors(self) -> list[str]:
        """Return what the browser complains about, except for answers."""
        return [
            entry['message']
            for entry in self.driver.get_log('browser')
            if 'Failed to load resource' not in entry['message']
        ]

    def test_every_page_can_be_used_by_all_and_obeys_its_policy(self) -> None:
        axe = _AXE.read_text()
        for width, colours in ((1280, 'light'), (400, 'dark')):
            self.size(width, colours)
            for path in _PATHS:
                self.visit(path)
                if path == '/':
                    self.wait(lambda: self.drawn() == '6', 'a map')
                self.keep_picture(path, width)
                # Through the protocol, which no policy of a page restricts.
                self.driver.execute_script(axe)
                found = self.driver.execute_async_script(
                    'axe.run().then(arguments[arguments.length - 1])'
                )
                faults = [
                    (one['id'], [node['html'] for node in one['nodes']])
                    for one in found['violations']
                ]
                self.assertEqual([], faults, (path, width))
                self.assertLessEqual(
                    self.driver.execute_script(
                        'return document.documentElement.scrollWidth'
                    ),
                    width,
                    path,
                )
                self.assertEqual([], self.errors(), path)

    def keep_picture(self, path: str, width: int) -> None:
        if _SHOTS:
            name = path.partition('?')[0].strip('/').replace('/', '-')
            self.driver.save_screenshot(
                f'{_SHOTS}/{name or "all"}-{width}.png'
            )

    def test_page_stays_true_while_nodes_move_and_a_service_dies(self) -> None:
        self.visit('/')
        self.wait(lambda: self.drawn() == '6', 'a map')
        self.driver.execute_script('window.untouched = true')
        row = self.driver.find_element
        self.assertIn('up', row(By.XPATH, '//tr[th="new"]').text)
        self.backend.leave()
        self.wait(
            lambda: self.driver.execute_script(
                "return [...document.querySelectorAll('tr')].some(row => "
                "row.innerText.startsWith('new') && "
                "row.innerText.includes('down'))"
            ),
            'the death of new',
        )
        self.assertTrue(
            self.driver.execute_script('return window.untouched'),
            'the page was loaded again',
        )

    def test_square_leads_to_its_node(self) -> None:
        self.visit('/?by=shard')
        self.wait(lambda: self.drawn() == '6', 'a map')
        canvas = self.driver.find_element(By.ID, 'map')
        box = canvas.rect
        webdriver.ActionChains(self.driver).move_to_element_with_offset(
            canvas, int(-box['width'] / 2) + 5, int(-box['height'] / 2) + 25
        ).click().perform()
        self.wait(lambda: '/nodes/' in self.driver.current_url, 'the node')
        self.assertIn('Why this owner', self.text())

    def test_node_is_moved_with_the_keyboard_alone(self) -> None:
        self.visit(f'/act/move/{world.uuid(1)}')
        for keys in ('new', Keys.TAB, 'CHG-7', Keys.ENTER):
            if keys == 'new':
                self.focus('service')
            self.driver.switch_to.active_element.send_keys(keys)
        self.wait(lambda: 'Proposal' in self.text(), 'the proposal')
        self.assertIn('destination admits', self.text())
        self.focus('step')
        self.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.wait(lambda: 'done' in self.text(), 'the result')
        owners = {n.uuid: n.host for n in self.records.compute_nodes()}
        self.assertEqual('new', owners[world.uuid(1)])

    def focus(self, name: str) -> None:
        """Press the tabulator until a field has the focus."""
        for _ in range(30):
            active = self.driver.switch_to.active_element
            if active.get_attribute('name') == name:
                return
            active.send_keys(Keys.TAB)
        self.fail(f'the keyboard does not reach {name}')

    def test_everything_works_without_scripts(self) -> None:
        self.command('Emulation.setScriptExecutionDisabled', value=True)
        self.visit('/')
        self.driver.find_element(By.LINK_TEXT, 'the table').click()
        self.wait(lambda: self.rows() == ['old 6'], 'one row')
        self.visit('/act/disable/new')
        self.driver.find_element(By.NAME, 'reason').send_keys('cables')
        self.driver.find_element(By.NAME, 'step').click()
        self.driver.find_element(By.CSS_SELECTOR, '[value=execute]').click()
        self.wait(lambda: self.row_of('new').disabled, 'new disabled')

    def rows(self) -> list[str]:
        """Return the first two words of each row."""
        rows = self.driver.find_elements(By.CSS_SELECTOR, 'tbody tr')
        return [' '.join(row.text.split()[:2]) for row in rows]

    def row_of(self, host: str) -> Any:
        return {row.host: row for row in self.records.services()}[host]

    def test_text_of_a_node_is_text_in_the_map_too(self) -> None:
        name = '<img src=x onerror="document.title=1">'
        node = world.node(9, name=name)
        self.ironic.put(node)
        self.claim('old', self.epoch, node)
        self.visit('/')
        self.wait(lambda: self.drawn() == '7', 'a map')
        script = "return document.querySelectorAll('img').length"
        self.assertEqual(0, self.driver.execute_script(script))
        with urllib.request.urlopen(f'{self.site}/fleet.json') as answer:
            self.assertIn(name, json.load(answer)['names'])
        self.assertEqual([], self.errors())
