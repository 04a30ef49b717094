"""Building and installing away from the checkout, as a user does it."""

from __future__ import annotations

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
    listed = run(
        *('git', 'ls-files', '-z', '--cached', '--others'),
        '--exclude-standard',
        cwd=CHECKOUT,
    )
    for name in filter(None, listed.split('\0')):
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
    """Build the wheel of a source tree in an empty directory.

    What builds it is in an environment of its own, which uv makes in a tenth
    of the time that pip takes.
    """
    run(
        *(sys.executable, '-m', 'uv', 'build', '--quiet', '--wheel'),
        *('--out-dir', target, source),
        cwd=target,
    )
    (wheel,) = target.glob('*.whl')
    return wheel


def own_wheel(directory: pathlib.Path) -> pathlib.Path:
    """Build the wheel of this checkout, from a clone in ``directory``."""
    clone(directory / 'clone')
    (directory / 'wheel').mkdir()
    return wheel_of(directory / 'clone', directory / 'wheel')


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
    venvs.install(directory, *map(str, requirements))
    return directory / 'bin'


def pip(directory: pathlib.Path, *words: object) -> None:
    """Run our own pip for a virtual environment, which needs none then."""
    run(
        *(sys.executable, '-m', 'pip', '--python', directory / 'bin/python'),
        *('--quiet', '--disable-pip-version-check', *words),
        cwd=directory.parent,
    )
