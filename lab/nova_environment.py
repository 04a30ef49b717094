"""The virtual environment of Nova, with the driver of this checkout."""

from __future__ import annotations

import functools
import pathlib

from lab import checkout, venvs

REQUIREMENTS = ('nova==34.0.0', 'PyMySQL>=1.1.0', 'gunicorn>=22')


def stock() -> pathlib.Path:
    """Return the environment; Nova is installed in it."""
    return venvs.ensure('nova', REQUIREMENTS)


@functools.cache
def with_driver() -> pathlib.Path:
    """Return the environment; Nova, the package and the driver are in it.

    :raises LabError: with the end of pip's output, if that fails.
    """
    return checkout.install(stock(), 'nova_driver')
