"""The virtual environment of Nova, with this checkout installed into it.

Nova itself is installed once and cached. The checkout and its driver follow as
a second step, which is repeated when their metadata or the driver change. The
package is installed in place; the driver is not, because it adds a module
below ``nova.virt``, as on the host of an operator.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import pathlib

from lab import venvs

REQUIREMENTS = ('nova==34.0.0', 'PyMySQL>=1.1.0', 'gunicorn>=22')
_BUILDERS = ('pbr>=6.0.0', 'setuptools>=77', 'wheel')
_CHECKOUT = pathlib.Path(__file__).resolve().parents[1]
_DRIVER = _CHECKOUT / 'nova_driver'


def stock() -> pathlib.Path:
    """Return the environment; Nova is installed in it."""
    return venvs.ensure('nova', REQUIREMENTS)


@functools.cache
def with_driver() -> pathlib.Path:
    """Return the environment; Nova, the package and the driver are in it.

    :raises LabError: with the end of pip's output, if that fails.
    """
    venv = stock()
    mark = venv / 'checkout'
    with (venv / 'checkout.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = _fingerprint()
        if not mark.exists() or mark.read_text() != wanted:
            mark.unlink(missing_ok=True)
            venvs.pip_install(venv, *_BUILDERS)
            here = '--no-build-isolation'
            venvs.pip_install(venv, here, '--editable', str(_CHECKOUT))
            venvs.pip_install(
                *(venv, here, '--force-reinstall', '--no-deps', str(_DRIVER))
            )
            mark.write_text(wanted)
    return venv


def _fingerprint() -> str:
    digest = hashlib.sha256(str(_CHECKOUT).encode())
    for path in (
        *(_CHECKOUT / 'pyproject.toml', _CHECKOUT / 'setup.cfg'),
        *sorted(_DRIVER.rglob('*.py')),
        *sorted(_DRIVER.glob('*.toml')),
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()
