"""Virtual environments for the real servers, created once and cached.

Each server has its own, because its libraries conflict with ours. They are in
``.lab`` of the repository, or in the directory IRONIC_OWNERSHIP_LAB. One
process installs, others wait for it. An interrupted installation lacks its
mark and is repeated.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence

from lab import process

_MARK = 'installed'
_INSTALL_TIMEOUT = 900


def cache() -> pathlib.Path:
    """Return the directory for downloads of the lab."""
    named = os.environ.get('IRONIC_OWNERSHIP_LAB')
    if named:
        return pathlib.Path(named).absolute()
    return pathlib.Path(__file__).resolve().parent.parent / '.lab'


def ensure(name: str, requirements: Sequence[str]) -> pathlib.Path:
    """Return a virtual environment in which the requirements are installed.

    :param name: name of the server, for the directory.
    :param requirements: as for pip; other ones make another environment.
    :returns: directory of the environment.
    :raises LabError: with the end of uv's output, if it cannot be made.
    """
    text = '\n'.join([*requirements, sys.version.split()[0]])
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    venv = cache() / f'{name}-{digest}'
    if (venv / _MARK).exists():
        return venv
    with _locked(venv.with_suffix('.lock')):
        if not (venv / _MARK).exists():
            _make(venv, requirements)
    return venv


def copy_or_make(
    kept: pathlib.Path, target: pathlib.Path, argv: Sequence[str]
) -> None:
    """Write a file that is always the same, unless it exists.

    :param kept: its copy, in the environment of a program that takes long to
        make it.
    :param argv: the program, which writes the target.
    :raises LabError: with what the program said, if it fails.
    """
    if target.exists():
        return
    if not kept.exists():
        with _locked(kept.with_suffix('.lock')):
            if not kept.exists():
                try:
                    process.output(argv)
                except process.LabError:
                    target.unlink(missing_ok=True)
                    raise
                new = kept.with_suffix('.new')
                shutil.copyfile(target, new)
                new.replace(kept)
                return
    shutil.copyfile(kept, target)


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(venv: pathlib.Path, requirements: Sequence[str]) -> None:
    shutil.rmtree(venv, ignore_errors=True)
    _run(
        [sys.executable, '-m', 'venv', '--without-pip', str(venv)],
        'Install the Debian package python3-venv',
    )
    install(venv, *requirements)
    (venv / _MARK).write_text('\n'.join(requirements))


def install(venv: pathlib.Path, *words: str) -> None:
    """Install into a virtual environment with uv, of which it needs no part.

    A Nova takes pip a minute, and uv a few seconds.

    :param words: requirements and options of "uv pip install".
    :raises LabError: with the end of uv's output, if it fails.
    """
    _run(
        [
            *(sys.executable, '-m', 'uv', 'pip', 'install', '--quiet'),
            *('--python', str(venv / 'bin' / 'python'), *words),
        ],
        'Is the package index reachable from here?',
    )


def _run(argv: Sequence[str], hint: str) -> None:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_INSTALL_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise process.LabError(
            f'{" ".join(argv)}: not done after {_INSTALL_TIMEOUT} s. {hint}'
        ) from exc
    if done.returncode:
        end = '\n'.join(done.stdout.splitlines()[-15:])
        raise process.LabError(f'{" ".join(argv)}:\n{end}\n{hint}')
