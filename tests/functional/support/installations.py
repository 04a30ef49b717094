"""Building and installing away from the checkout, as a user does it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from typing import ClassVar

from lab import venvs

CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
_WHEELS = CHECKOUT / 'build' / 'wheels'
_GIT_CONFIG = pathlib.Path(__file__).with_name('gitconfig')
_KEPT = 86400
"""Seconds after which no test needs the wheels of an earlier checkout."""
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


def own_wheel(distribution: str = '.') -> pathlib.Path:
    """Return the wheel of a distribution of this checkout, as it is now.

    The first test that needs it builds it, in a clone; it is kept for those
    of other processes.

    :param distribution: its directory in the checkout.
    """
    _WHEELS.mkdir(parents=True, exist_ok=True)
    with (_WHEELS / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for old in filter(pathlib.Path.is_dir, _WHEELS.iterdir()):
            if time.time() - old.stat().st_mtime > _KEPT:
                shutil.rmtree(old)
        kept = _WHEELS / _fingerprint() / distribution.replace('.', 'core')
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=_WHEELS) as name:
                root = pathlib.Path(name)
                clone(root / 'clone')
                (root / 'wheel').mkdir()
                wheel_of(root / 'clone' / distribution, root / 'wheel')
                kept.parent.mkdir(exist_ok=True)
                (root / 'wheel').rename(kept)
    (wheel,) = kept.glob('*.whl')
    return wheel


def _fingerprint() -> str:
    """Return a digest of the files of the checkout and of its commit.

    The number of commits is in the version.
    """
    digest = hashlib.sha256()
    for words in (('rev-parse', 'HEAD'), ('diff', '--binary', 'HEAD')):
        digest.update(run('git', *words, cwd=CHECKOUT).encode())
    listed = run(
        *('git', 'ls-files', '-z', '--others', '--exclude-standard'),
        cwd=CHECKOUT,
    )
    for name in filter(None, listed.split('\0')):
        digest.update(name.encode() + (CHECKOUT / name).read_bytes())
    return digest.hexdigest()[:16]


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
