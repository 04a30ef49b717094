"""Program: forks for each request, with all imports done.

Imports are most of what the start of a Python program costs. Run by the Python
of any environment with the path of a module that does the imports, and told by
the lab, over a socket, what to start: see ``preloaded``. Each child has a
process, a session, arguments, an environment, a directory and output of its
own.
"""

from __future__ import annotations

import atexit
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
from typing import NoReturn

_LONGEST = 200_000
"""Bytes of one request: arguments and environment."""
_ENDS = {signal.SIGCHLD}


def main(control: socket.socket, imports: str) -> None:
    """Fork for each request, until the lab has gone and all have ended.

    :param imports: path of the module that does the imports.
    """
    runpy.run_path(imports, run_name='__main__')
    # Only this thread would be in the forks.
    assert threading.active_count() == 1, threading.enumerate()
    # They stay: let no process look through them for garbage, or copy them.
    gc.collect()
    gc.freeze()
    running: dict[int, int] = {}
    signal.signal(signal.SIGCHLD, lambda *_: _report(running))
    while True:
        request, fds, _, _ = socket.recv_fds(control, _LONGEST, 3)
        if not request:
            break
        answer, *streams = fds
        # Its end waits until it is known here.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
        child = os.fork()
        if child == 0:
            control.close()
            for fd in (answer, *running.values()):
                os.close(fd)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
            _program(request, *streams)
        running[child] = answer
        _write(answer, child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        for fd in streams:
            os.close(fd)
    # Servers may be stopped after this process.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    _report(running)
    while running:
        signal.sigwait(_ENDS)
        _report(running)


def _report(running: dict[int, int]) -> None:
    """Report the status of each child that has ended."""
    with contextlib.suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            answer = running.pop(child)
            _write(answer, os.waitstatus_to_exitcode(status))
            os.close(answer)


def _write(answer: int, number: int) -> None:
    with contextlib.suppress(OSError):  # who asked has gone
        os.write(answer, f'{number}\n'.encode())


def _program(request: bytes, out: int, err: int) -> NoReturn:
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
    try:
        if function:
            sys.exit(getattr(importlib.import_module(module), function)())
        runpy.run_path(program, run_name='__main__')
        sys.exit()
    except SystemExit as exc:
        _exit(exc.code)


def _exit(code: object) -> NoReturn:
    """End as Python does, but free nothing.

    All that was imported would be copied only to be freed: that takes a short
    program longer than its work.
    """
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except OSError:
        code = 120
    os._exit(code or 0)


if __name__ == '__main__':
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
