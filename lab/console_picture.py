"""A picture of the console, with Debian's Chromium.

Usage: python -m lab.console_picture URL
"""

from __future__ import annotations

import pathlib
import sys

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from lab import chromium

_PICTURE = pathlib.Path(__file__).parents[1] / 'doc/source/_static/console.png'
_WIDTH = 1120
_IS_COMPLETE = """
return document.getElementById('map').dataset.drawn
    && !document.body.innerText.includes('for the first time')
"""


def main() -> int:
    """Take the picture of the overview, when its map is drawn."""
    driver = chromium.start('hide-scrollbars')
    try:
        _size(driver, 800)
        driver.get(sys.argv[1])
        WebDriverWait(driver, 60).until(
            lambda _: driver.execute_script(_IS_COMPLETE)
        )
        _size(
            driver,
            driver.execute_script(
                'return document.documentElement.scrollHeight'
            ),
        )
        driver.save_screenshot(str(_PICTURE))
    finally:
        driver.quit()
    return 0


def _size(driver: webdriver.Chrome, height: int) -> None:
    driver.execute_cdp_cmd(
        'Emulation.setDeviceMetricsOverride',
        {
            'width': _WIDTH,
            'height': height,
            'deviceScaleFactor': 1,
            'mobile': False,
        },
    )


if __name__ == '__main__':
    sys.exit(main())
