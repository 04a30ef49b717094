"""Tests of the project; ``README.rst`` says which kind is where."""

from __future__ import annotations

import gc
import pathlib
import unittest


def load_tests(
    loader: unittest.TestLoader, found: unittest.TestSuite, pattern: str
) -> unittest.TestSuite:
    """Load all tests, and let no search for garbage look at them again.

    They, and all that they import, stay as long as the process.
    """
    gc.disable()
    here = str(pathlib.Path(__file__).parent)
    found.addTests(loader.discover(here, pattern or 'test*.py'))
    gc.freeze()
    gc.enable()
    return found
