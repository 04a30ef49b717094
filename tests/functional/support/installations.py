"""Building and installing away from the checkout, as a user does it."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import ClassVar

from lab import venvs

CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
_GIT_CONFIG = pathlib.Path(__file__).with_name('gitconfig')
_TIMEOUT = 900


class InstalledCase(unittest.TestCase):
    """Tests of what is installed in an environment of its own.

    :cvar root: a directory that goes with the tests.
    :cvar bin: the environment's programs; made by :meth:`setUpClass` of the
        tests.
    """

    root: ClassVar[pathlib.Path]
    bin: ClassVar[pathlib.Path]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix='installed-'))
        cls.addClassCleanup(shutil.rmtree, cls.root)

    @classmethod
    def run_program(
        cls, program: str, *words: object, cwd: pathlib.Path | None = None
    ) -> str:
        """Run a program of the environment and return what it prints."""
        return run(cls.bin / program, *words, cwd=cwd or cls.root)


def run(*argv: object, cwd: pathlib.Path) -> str:
    """Run a command away from the checkout and return what it printed."""
    done = subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT,
    )
    if done.returncode:
        raise AssertionError(
            f'{argv} ended with {done.returncode}:\n{done.stdout}'
        )
    return done.stdout


def environment() -> dict[str, str]:
    """Return the environment without what would lead back to the checkout.

    git has no configuration but ours: a name for the commit, and trust in a
    checkout of another user.
    """
    leading = {'PYTHONPATH', 'PYTHONHOME', 'PBR_VERSION', 'VIRTUAL_ENV'}
    kept = {k: v for k, v in os.environ.items() if k not in leading}
    return {**kept, 'GIT_CONFIG_GLOBAL': str(_GIT_CONFIG)}


def clone(target: pathlib.Path) -> None:
    """Clone the checkout without tags, with what is not committed yet."""
    run(
        *('git', 'clone', '--quiet', '--no-tags', '--no-hardlinks'),
        *(CHECKOUT, target),
        cwd=CHECKOUT,
    )
    for name in _files():
        if (CHECKOUT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, target / name)
        else:
            (target / name).unlink(missing_ok=True)
    run('git', 'add', '--all', cwd=target)
    run(
        *('git', 'commit', '--quiet', '--allow-empty', '--no-verify'),
        *('--message', 'As it is now'),
        cwd=target,
    )


def wheel_of(source: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """Build the wheel of a source tree in an empty directory."""
    run(
        *(sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--quiet'),
        *('--wheel-dir', target, source),
        cwd=target,
    )
    (wheel,) = target.glob('*.whl')
    return wheel


def own_wheel(part: str = '.') -> pathlib.Path:
    """Return a wheel of this checkout, which the first who needs it builds.

    :param part: directory of the distribution.
    """
    home = CHECKOUT / '.lab'
    home.mkdir(exist_ok=True)
    wheels = home / f'wheels-{_state()}'
    with venvs.locked(home / 'wheels.lock'):
        for old in {*home.glob('wheels-*')} - {wheels}:
            shutil.rmtree(old)
        target = wheels / part.replace('.', 'ironic_ownership')
        if not target.exists():
            with tempfile.TemporaryDirectory(prefix='wheel-') as made:
                root = pathlib.Path(made)
                clone(root / 'clone')
                (root / 'wheel').mkdir()
                wheel_of(root / 'clone' / part, root / 'wheel')
                shutil.copytree(root / 'wheel', target)
    (wheel,) = target.glob('*.whl')
    return wheel


def _files() -> list[str]:
    """Return the names of the files of the checkout, deleted ones as well."""
    listed = run(
        *('git', 'ls-files', '-z', '--cached', '--others'),
        '--exclude-standard',
        cwd=CHECKOUT,
    )
    return [name for name in listed.split('\0') if name]


def _state() -> str:
    """Return a digest of the commit and of all files of the checkout."""
    state = hashlib.sha256(
        run('git', 'rev-parse', 'HEAD', cwd=CHECKOUT).encode()
    )
    for name in _files():
        file = CHECKOUT / name
        state.update(f'{name}\0'.encode())
        state.update(file.read_bytes() if file.is_file() else b'')
    return state.hexdigest()[:16]


def fresh_environment(
    directory: pathlib.Path, *requirements: object
) -> pathlib.Path:
    """Make a virtual environment with these packages and what they need.

    :returns: its directory of programs.
    """
    run(
        *(sys.executable, '-m', 'venv', '--without-pip', directory),
        cwd=directory.parent,
    )
    # Python compiles what is imported.
    pip(directory, 'install', '--no-compile', *requirements)
    return directory / 'bin'


def pip(directory: pathlib.Path, *words: object) -> None:
    """Run our own pip for a virtual environment, which needs none then."""
    run(
        *(sys.executable, '-m', 'pip', '--python', directory / 'bin/python'),
        *('--quiet', '--disable-pip-version-check', *words),
        cwd=directory.parent,
    )
