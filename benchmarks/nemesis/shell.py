"""Operator's shell: forks for each command, with all imports done.

Imports are most of what a command costs, and the processors are needed for the
services. Each line of standard input is a command: its arguments as JSON, and
the path of its files. It ends with the end of its input.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pathlib
import pkgutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

_PACKAGES = ('api', 'cli', 'clients', 'db', 'engine', 'observe', 'wiring')
_IMPORTED_LATE = (
    'cliff.formatters.table',
    'keystoneauth1.adapter',
    'keystoneauth1.loading',
    'openstack.config',
    'openstack.connection',
)
_POLL = 0.05

Done = subprocess.CompletedProcess[str]


class Shell:
    """A running shell. Threads may use it at the same time.

    :param directory: for the output of the commands.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._number = 0
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, '-m', __name__],
            cwd=pathlib.Path(__file__).resolve().parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )

    def run(self, arguments: Sequence[str], timeout: float) -> Done:
        """Run ``ironic-ownership``.

        :raises subprocess.TimeoutExpired: if it takes longer, in seconds.
        """
        with self._lock:
            self._number += 1
            path = self._directory / f'command{self._number}'
            line = json.dumps([list(arguments), str(path)])
            assert self._process.stdin is not None
            self._process.stdin.write(line + '\n')
            self._process.stdin.flush()
        code = path.with_suffix('.code')
        deadline = time.monotonic() + timeout
        while not code.exists():
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(list(arguments), timeout)
            time.sleep(_POLL)
        done = Done(
            list(arguments),
            int(code.read_text()),
            path.with_suffix('.out').read_text(),
            path.with_suffix('.err').read_text(),
        )
        for suffix in ('.code', '.out', '.err'):
            path.with_suffix(suffix).unlink()
        return done

    def close(self) -> None:
        """End the shell and its commands."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def main() -> int:
    """Fork for each command, until the input ends."""
    for name in _PACKAGES:
        package = importlib.import_module(f'ironic_ownership.{name}')
        for module in pkgutil.walk_packages(
            package.__path__, f'{package.__name__}.'
        ):
            if '.migrations.' not in module.name:
                importlib.import_module(module.name)
    for name in _IMPORTED_LATE:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            arguments, path = json.loads(line)
            _run(arguments, pathlib.Path(path))
    return 0


def _run(arguments: Sequence[str], path: pathlib.Path) -> None:
    """Run one command in this process, and end the process."""
    code = 1
    for number, suffix in ((1, '.out'), (2, '.err')):
        with path.with_suffix(suffix).open('w') as file:
            os.dup2(file.fileno(), number)
    try:
        from ironic_ownership.cmd import cli

        sys.argv = ['ironic-ownership', *arguments]
        code = cli.main()
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else 1
    except BaseException:  # noqa: BLE001 - its traceback is a finding
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        new = path.with_suffix('.new')
        new.write_text(str(code))
        new.rename(path.with_suffix('.code'))
        os._exit(0)


if __name__ == '__main__':
    sys.exit(main())
