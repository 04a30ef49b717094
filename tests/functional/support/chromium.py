"""A browser whose searches wait, and pages that all can use, for tests.

axe-core, which is in ``axe`` with its licence, looks for what people cannot
use. A picture of each page is kept in ``build/console``.
"""

from __future__ import annotations

import base64
import pathlib
import unittest
from collections.abc import Callable

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.support.ui import WebDriverWait

from lab import chromium

_TIMEOUT = 110
"""Seconds: longer than any page takes on a busy machine, and less than a
request to the browser may take, so that what is missing is named."""


_AXE = pathlib.Path(__file__).parent / 'axe' / 'axe.min.js'
_PICTURES = pathlib.Path(__file__).parents[3] / 'build' / 'console'


def start() -> webdriver.Chrome:
    """Return a browser, which keeps what pages complain about."""
    driver = chromium.start()
    # An element may be one of the page that a click leads to.
    driver.implicitly_wait(_TIMEOUT)
    return driver


def wait(
    driver: webdriver.Chrome, until: Callable[[], object], what: str
) -> None:
    # What was found may be of the page before.
    waits = WebDriverWait(
        driver, _TIMEOUT, ignored_exceptions=[StaleElementReferenceException]
    )
    waits.until(lambda _: until(), what)


class PagesCase(unittest.TestCase):
    """Visits the pages of a console.

    :ivar driver: the browser.
    :ivar site: the URL of the console.
    """

    driver: webdriver.Chrome
    site: str

    def visit(self, path: str) -> None:
        self.driver.get(f'{self.site}{path}')

    def wait(self, until: Callable[[], object], what: str) -> None:
        wait(self.driver, until, what)

    def text(self) -> str:
        # A part may be replaced while it is read.
        return str(
            self.driver.execute_script('return document.body.innerText')
        )

    def drawn(self) -> str | None:
        script = 'return document.getElementById("map").dataset.drawn'
        found: str | None = self.driver.execute_script(script)
        return found

    def size(self, width: int, colours: str = 'light') -> None:
        self.driver.execute_cdp_cmd(
            'Emulation.setDeviceMetricsOverride',
            {
                'width': width,
                'height': 900,
                'deviceScaleFactor': 1,
                'mobile': False,
            },
        )
        scheme = {'name': 'prefers-color-scheme', 'value': colours}
        self.driver.execute_cdp_cmd(
            'Emulation.setEmulatedMedia', {'features': [scheme]}
        )

    def assert_no_complaint(self, path: str) -> None:
        """Assert that the browser complains of nothing but answers."""
        found = [
            entry['message']
            for entry in self.driver.get_log('browser')
            if 'Failed to load resource' not in entry['message']
        ]
        self.assertEqual([], found, path)

    def assert_all_can_use(self, path: str, width: int) -> None:
        """Assert that the page shown is whole, and keep a picture of it."""
        self._keep_picture(path, width)
        # Through the protocol, which no policy of a page restricts.
        self.driver.execute_script(_AXE.read_text())
        found = self.driver.execute_async_script(
            'axe.run().then(arguments[arguments.length - 1])'
        )
        faults = [
            (one['id'], [node['html'] for node in one['nodes']])
            for one in found['violations']
        ]
        self.assertEqual([], faults, (path, width))
        script = 'return document.documentElement.scrollWidth'
        self.assertLessEqual(self.driver.execute_script(script), width, path)
        self.assert_no_complaint(path)

    def _keep_picture(self, path: str, width: int) -> None:
        name = path.partition('?')[0].strip('/').replace('/', '-')
        where = _PICTURES / type(self).__module__.rpartition('.')[2]
        where.mkdir(parents=True, exist_ok=True)
        answer = self.driver.execute_cdp_cmd(
            'Page.captureScreenshot', {'captureBeyondViewport': True}
        )
        picture = where / f'{name or "overview"}-{width}.png'
        picture.write_bytes(base64.b64decode(answer['data']))
