"""Runs of the command line in forks of a process with all imports done.

That is most of what a short command costs. A process beside the tests has
imported it all, and forks for each run, which has a process, arguments, an
environment, output and an end of its own. That every module imports what it
needs is seen where the program is installed, in the quickstart, and wherever
a test gives it an environment.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence

Done = subprocess.CompletedProcess[str]

# Packages of ours, and what they import when they come to it.
_PACKAGES = ('api', 'cli', 'clients', 'db', 'engine', 'observe', 'wiring')
_IMPORTED_LATE = (
    'cliff.formatters.json_format',
    'cliff.formatters.table',
    'cliff.formatters.value',
    'cliff.formatters.yaml_format',
    'keystoneauth1.adapter',
    'keystoneauth1.loading',
    'openstack.config',
    'openstack.connection',
    'sqlalchemy.dialects.sqlite.pysqlite',
)
_LONGEST = 100_000
"""Bytes of one request: arguments and environment."""


class Starter:
    """The process that forks. Threads may use it at once."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        with theirs:
            # It ends when this process does, and the socket with it.
            self._process = subprocess.Popen(
                [sys.executable, '-m', __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def run(self, argv: Sequence[str], timeout: float) -> Done:
        """Run ``ironic-ownership``, away from the checkout.

        :param argv: arguments; the first is the program's path.
        :raises TimeoutError: if it takes longer.
        """
        request = json.dumps([list(argv), dict(os.environ)]).encode()
        ours, theirs = socket.socketpair()
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            ours,
        ):
            with theirs:
                fds = [theirs.fileno(), out.fileno(), err.fileno()]
                socket.send_fds(self._control, [request], fds)
            ours.settimeout(timeout)
            code = int(ours.recv(16).decode())
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(
                list(argv), code, out.read().decode(), err.read().decode()
            )

    def close(self) -> None:
        """End the process."""
        self._control.close()
        self._process.wait()


_starting = threading.Lock()


def run(argv: Sequence[str], timeout: float) -> Done:
    """Run ``ironic-ownership``; see :meth:`Starter.run`."""
    with _starting:
        starter = _starter()
    return starter.run(argv, timeout)


@functools.cache
def _starter() -> Starter:
    starter = Starter()
    atexit.register(starter.close)
    return starter


def main(control: socket.socket) -> int:
    """Fork for each request, until the client has gone.

    :returns: what the program returned, in a process that became one.
    """
    _import_all()
    # The processes that report are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, fds, _, _ = socket.recv_fds(control, _LONGEST, 3)
        if not request:
            return 0
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return _report(request, *fds)
        for fd in fds:
            os.close(fd)


def _import_all() -> None:
    for name in _PACKAGES:
        package = importlib.import_module(f'ironic_ownership.{name}')
        for module in pkgutil.walk_packages(
            package.__path__, f'{package.__name__}.'
        ):
            if '.migrations.' not in module.name:
                importlib.import_module(module.name)
    for name in _IMPORTED_LATE:
        importlib.import_module(name)
    # They stay: let no run look through them for garbage, or copy them.
    gc.collect()
    gc.freeze()


def _report(request: bytes, answer: int, out: int, err: int) -> int:
    child = os.fork()
    if child == 0:
        os.close(answer)
        return _program(request, out, err)
    _, status = os.waitpid(child, 0)
    os.write(answer, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _program(request: bytes, out: int, err: int) -> int:
    sys.argv, environment = json.loads(request)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir('/')
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    from ironic_ownership.cmd import cli

    return cli.main()


if __name__ == '__main__':
    sys.exit(main(socket.socket(fileno=int(sys.argv[1]))))
