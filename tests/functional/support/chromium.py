"""Debian's Chromium, without a window."""

from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.support.ui import WebDriverWait

_TIMEOUT = 180
"""Seconds: longer than any page takes on a busy machine."""


def start() -> webdriver.Chrome:
    """Return a browser, which keeps what pages complain about."""
    options = webdriver.ChromeOptions()
    for word in ('headless=new', 'no-sandbox', 'disable-gpu'):
        options.add_argument(f'--{word}')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    driver = webdriver.Chrome(
        options=options,
        service=webdriver.ChromeService('/usr/bin/chromedriver'),
    )
    # An element may be one of the page that a click leads to.
    driver.implicitly_wait(_TIMEOUT)
    return driver


def wait(
    driver: webdriver.Chrome, until: Callable[[], object], what: str
) -> None:
    """Wait for something on the page."""
    # What was found may be of the page before.
    waits = WebDriverWait(
        driver, _TIMEOUT, ignored_exceptions=[StaleElementReferenceException]
    )
    waits.until(lambda _: until(), what)
