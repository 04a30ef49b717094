"""A browser whose searches wait, for tests."""

from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.support.ui import WebDriverWait

from lab import chromium

_TIMEOUT = 110
"""Seconds: longer than any page takes on a busy machine, and less than a
request to the browser may take, so that what is missing is named."""


def start() -> webdriver.Chrome:
    """Return a browser, which keeps what pages complain about."""
    driver = chromium.start()
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
