"""This checkout, installed into the virtual environment of a server.

The server itself is installed once and cached. The package and one of its
other distributions follow as a second step, which is repeated when their
metadata or that distribution change. The package is installed in place; the
distribution is not, as on the host of an operator.
"""

from __future__ import annotations

import fcntl
import hashlib
import pathlib

from lab import venvs

_BUILDERS = ('pbr>=6.0.0', 'setuptools>=77', 'wheel')
_CHECKOUT = pathlib.Path(__file__).resolve().parents[1]


def install(venv: pathlib.Path, distribution: str) -> pathlib.Path:
    """Return the environment with the package and a distribution in it.

    :param distribution: its directory in the checkout.
    :raises LabError: with the end of uv's output, if that fails.
    """
    source = _CHECKOUT / distribution
    mark = venv / 'checkout'
    with (venv / 'checkout.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = _fingerprint(source)
        if not mark.exists() or mark.read_text() != wanted:
            mark.unlink(missing_ok=True)
            venvs.install(venv, *_BUILDERS)
            here = '--no-build-isolation'
            venvs.install(venv, here, '--editable', str(_CHECKOUT))
            venvs.install(
                *(venv, here, '--reinstall', '--no-deps', str(source))
            )
            mark.write_text(wanted)
    return venv


def _fingerprint(source: pathlib.Path) -> str:
    digest = hashlib.sha256(str(_CHECKOUT).encode())
    for path in (
        *(_CHECKOUT / 'pyproject.toml', _CHECKOUT / 'setup.cfg'),
        *sorted(source.rglob('*.py')),
        *sorted(source.glob('*.toml')),
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()
