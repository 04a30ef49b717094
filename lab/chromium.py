"""Debian's Chromium, without a window."""

from __future__ import annotations

from selenium import webdriver


def start(*words: str) -> webdriver.Chrome:
    """Return a browser, which keeps what pages complain about.

    :param words: more options of Chromium, without dashes.
    """
    options = webdriver.ChromeOptions()
    for word in ('headless=new', 'no-sandbox', 'disable-gpu', *words):
        options.add_argument(f'--{word}')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    return webdriver.Chrome(
        options=options,
        service=webdriver.ChromeService('/usr/bin/chromedriver'),
    )
