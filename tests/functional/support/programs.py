"""The programs of the project, in forks of a process with all imports done.

That is most of what a short command costs, and half of the start of a host.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import types
from collections.abc import Mapping, Sequence

from lab import preloaded, process
from tests.functional.support import own_imports

Done = subprocess.CompletedProcess[str]

API = 'ironic_ownership.cmd.api'
CLI = 'ironic_ownership.cmd.cli'
DBSYNC = 'ironic_ownership.cmd.dbsync'
HOST = 'ironic_ownership.cmd.host'

_ROOT = pathlib.Path('/')


def run(
    argv: Sequence[str],
    timeout: float,
    program: str = CLI,
    *,
    as_one: bool = False,
    env: Mapping[str, str] = types.MappingProxyType({}),
) -> Done:
    """Run a program to its end, away from the checkout.

    :param argv: arguments; the first is its path.
    :param program: its module.
    :param as_one: whether standard error goes to standard output.
    :param env: what it has in its environment beside that of the tests.
    :raises TimeoutExpired: if it takes longer.
    """
    return _forks().run(
        f'{program}:main',
        argv,
        {**os.environ, **env},
        _ROOT,
        timeout=timeout,
        as_one=as_one,
    )


def begin(
    program: str,
    arguments: Sequence[str],
    log: pathlib.Path,
    env: Mapping[str, str] | None = None,
) -> process.Process:
    """Return a program that goes on, which is not started.

    :param log: takes its output.
    :param env: variables to add to its environment.
    """
    return preloaded.Preloaded(
        _forks(), f'{program}:main', [program, *arguments], log, env=env
    )


def _forks() -> preloaded.Forks:
    return preloaded.shared(
        pathlib.Path(sys.executable), pathlib.Path(own_imports.__file__)
    )
