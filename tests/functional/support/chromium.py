"""Debian's Chromium, without a window."""

from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait


def start() -> webdriver.Chrome:
    """Return a browser, which keeps what pages complain about."""
    options = webdriver.ChromeOptions()
    for word in ('headless=new', 'no-sandbox', 'disable-gpu'):
        options.add_argument(f'--{word}')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    return webdriver.Chrome(
        options=options,
        service=webdriver.ChromeService('/usr/bin/chromedriver'),
    )


def wait(
    driver: webdriver.Chrome, until: Callable[[], object], what: str
) -> None:
    """Wait for something on the page."""
    WebDriverWait(driver, 20).until(lambda _: until(), what)
