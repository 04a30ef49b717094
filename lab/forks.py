"""Program: forks for each request, with all imports done.

Imports are most of what the start of a Python program costs. Run by the Python
of any environment with the path of a module that does the imports, and told by
the lab, over a socket, what to start: see ``preloaded``. Each child has a
process, a session, arguments, an environment, a directory and output of its
own.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading

_LONGEST = 200_000
"""Bytes of one request: arguments and environment."""


def main(control: socket.socket, imports: str) -> None:
    """Fork for each request, until the lab has gone.

    :param imports: path of the module that does the imports.
    """
    runpy.run_path(imports, run_name='__main__')
    # Only this thread would be in the forks.
    assert threading.active_count() == 1, threading.enumerate()
    # They stay: let no process look through them for garbage, or copy them.
    gc.collect()
    gc.freeze()
    # So that what they used of the processors is counted here.
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        request, fds, _, _ = socket.recv_fds(control, _LONGEST, 3)
        if not request:
            return
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _report(request, *fds)
            return
        for fd in fds:
            os.close(fd)


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _report(request: bytes, answer: int, out: int, err: int) -> None:
    child = os.fork()
    if child == 0:
        os.close(answer)
        _program(request, out, err)
        return
    os.close(out)
    os.close(err)
    os.write(answer, f'{child}\n'.encode())
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):  # the lab has gone
        os.write(answer, f'{os.waitstatus_to_exitcode(status)}\n'.encode())
    os._exit(0)


def _program(request: bytes, out: int, err: int) -> None:
    program, sys.argv, environment, directory = json.loads(request)
    os.environ.clear()
    os.environ.update(environment)
    # Python has read it before the fork.
    more = environment.get('PYTHONPATH', '').split(os.pathsep)
    sys.path[:0] = [path for path in more if path and path not in sys.path]
    if directory is not None:
        os.chdir(directory)
    os.setsid()
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    module, _, function = program.partition(':')
    if function:
        sys.exit(getattr(importlib.import_module(module), function)())
    runpy.run_path(program, run_name='__main__')


if __name__ == '__main__':
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
