"""The console in a real Chromium: each page, its actions, and its changes.

The HTTP service behind it is the real one, over a fake Ironic.
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from ironic_ownership_console import app
from ironic_ownership_console.service import Service
from tests.functional.support import chromium, served
from tests.unit.engine import world

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


class ConsoleTest(served.ServedCase, chromium.PagesCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.driver = chromium.start()
        cls.addClassCleanup(cls.driver.quit)

    def setUp(self) -> None:
        super().setUp()
        self.service = Service(self.api)
        self.site = self.serve(app.build(self.service))
        self.size(1280)
        self.command('Emulation.setScriptExecutionDisabled', value=False)
        self.driver.get_log('browser')  # of the test before

    def command(self, name: str, **given: Any) -> None:
        self.driver.execute_cdp_cmd(name, given)

    def test_every_page_can_be_used_by_all_and_obeys_its_policy(self) -> None:
        for width, colours in ((1280, 'light'), (400, 'dark')):
            self.size(width, colours)
            for path in _PATHS:
                self.visit(path)
                if path == '/':
                    self.wait(lambda: self.drawn() == '6', 'a map')
                self.assert_all_can_use(path, width)

    def test_page_stays_true_while_nodes_move_and_a_service_dies(self) -> None:
        self.visit('/')
        self.wait(lambda: self.drawn() == '6', 'a map')
        self.wait(lambda: 'old 6' in self.groups(), 'six squares of old')
        self.driver.execute_script('window.untouched = true')
        self.assertEqual('up 0', self.state_of('new'))
        self.service.call(
            '',
            'POST',
            '/v1/moves',
            body={'service': 'new', 'select': {'uuids': [world.uuid(1)]}},
        )
        self.wait(lambda: self.state_of('new') == 'up 1', 'the node')
        self.wait(lambda: 'new 1' in self.groups(), 'its square')
        self.backend.leave()
        self.wait(lambda: self.state_of('new') == 'down 1', 'the death')
        self.assertTrue(
            self.driver.execute_script('return window.untouched'),
            'the page was loaded again',
        )

    def state_of(self, host: str) -> str:
        """Return the state and the number of nodes of a service."""
        script = """
            const [host] = arguments;
            const cells = [...document.querySelectorAll('tbody tr')]
              .map(row => [...row.cells].map(cell => cell.innerText))
              .find(cells => cells[0] === host);
            return cells[1] + ' ' + cells[2];
        """
        return str(self.driver.execute_script(script, host))

    def groups(self) -> str:
        """Return the groups of the map with their numbers of squares."""
        script = 'return document.getElementById("map").ariaLabel'
        return str(self.driver.execute_script(script))

    def test_page_says_so_while_it_cannot_be_read_again(self) -> None:
        self.visit('/')
        self.assertNotIn('Not read again', self.text())
        self.service.endpoint = 'http://127.0.0.1:1'
        self.wait(lambda: 'Not read again since' in self.text(), 'a message')
        self.assertIn('does not answer', self.text())
        self.service.endpoint = self.api
        self.wait(lambda: 'Not read again' not in self.text(), 'an end')

    def test_part_that_is_read_again_keeps_focus_and_position(self) -> None:
        self.size(400)
        self.visit('/')
        self.driver.execute_script("""
            window.before = document.getElementById('live');
            const table = before.querySelector('.scroll');
            table.scrollLeft = 50;
            const last = [...table.querySelectorAll('a')].at(-1);
            last.focus({preventScroll: true});
        """)
        self.wait(
            lambda: self.driver.execute_script(
                'return document.getElementById("live") !== window.before'
            ),
            'the next part',
        )
        found = self.driver.execute_script("""
            return [document.activeElement.innerText,
                    document.querySelector('#live .scroll').scrollLeft];
        """)
        self.assertEqual(['old', 50], found)

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
        self.assertEqual('new', self.owner(1))

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
        self.wait(
            lambda: {s.host: s.disabled for s in self.records.services()}[
                'new'
            ],
            'new disabled',
        )

    def rows(self) -> list[str]:
        """Return the first two words of each row."""
        rows = self.driver.find_elements(By.CSS_SELECTOR, 'tbody tr')
        return [' '.join(row.text.split()[:2]) for row in rows]

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
        self.assert_no_complaint('/')
