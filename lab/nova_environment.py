"""The virtual environment of Nova, with the driver of this checkout."""

from __future__ import annotations

import functools
import pathlib

from lab import checkout, venvs

LATEST = '34'
RELEASES = {LATEST: '34.0.0', '33': '33.0.2'}
"""Releases of Nova that tests run with."""
REFUSED = '31.3.1'
"""Release of Nova with which the driver does not start."""
THREADS = 'OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true'
"""Environment of a Nova 33 with native threads."""


def stock(release: str = LATEST) -> pathlib.Path:
    """Return the environment; Nova is installed in it."""
    nova = f'nova=={RELEASES[release]}'
    return venvs.ensure('nova', (nova, 'PyMySQL>=1.1.0', 'gunicorn>=22'))


@functools.cache
def with_driver(release: str = LATEST) -> pathlib.Path:
    """Return the environment; Nova, the package and the driver are in it.

    :raises LabError: with the end of uv's output, if that fails.
    """
    return checkout.install(stock(release), 'nova_driver')
