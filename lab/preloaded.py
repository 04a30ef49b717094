"""Programs that share a process in which all imports are done.

See ``forks`` for that process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence

from lab import process

_PROGRAM = pathlib.Path(__file__).with_name('forks.py')
_IMPORTS = 180.0
"""Seconds that the imports may take, on a busy machine."""


class Forks:
    """The process that forks. Threads may use it at once.

    :param python: of an environment.
    :param imports: a module that does the imports, by its path.
    :param env: variables to add to the environment of that process.
    """

    def __init__(
        self,
        python: pathlib.Path,
        imports: pathlib.Path,
        log: pathlib.Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._log = log
        self._control, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        with theirs, log.open('ab') as output:
            # It ends when this process does, and the socket with it.
            self._process = subprocess.Popen(
                [
                    *(str(python), '-P', str(_PROGRAM)),
                    *(str(theirs.fileno()), str(imports)),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
            )

    @property
    def pid(self) -> int:
        """The process id of the process that forks."""
        return self._process.pid

    def start(
        self,
        program: str,
        argv: Sequence[str],
        log: pathlib.Path,
        env: Mapping[str, str],
        directory: pathlib.Path | None = None,
    ) -> _Forked:
        """Start a program.

        :param program: ``module:function``, or the path of a module.
        :param argv: arguments; the first is the name of the program.
        :param log: file that takes standard output and error.
        :param env: its whole environment.
        :param directory: where it runs.
        """
        with log.open('ab') as output:
            streams = [output.fileno(), output.fileno()]
            return self._start(program, argv, streams, env, directory)

    def run(
        self,
        program: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        directory: pathlib.Path | None = None,
        *,
        timeout: float,
        as_one: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end; see :meth:`start`.

        :param timeout: seconds.
        :param as_one: whether standard error goes to standard output.
        :raises TimeoutExpired: if it takes longer; it goes on then.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            streams = [out.fileno(), (out if as_one else err).fileno()]
            child = self._start(program, argv, streams, env, directory)
            status = child.wait(timeout)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(list(argv), status, *texts)

    def _start(
        self,
        program: str,
        argv: Sequence[str],
        streams: Sequence[int],
        env: Mapping[str, str],
        directory: pathlib.Path | None,
    ) -> _Forked:
        where = directory and str(directory)
        request = [program, list(argv), dict(env), where]
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(
                self._control,
                [json.dumps(request).encode()],
                [theirs.fileno(), *streams],
            )
        try:
            return _Forked(ours)
        except TimeoutError as exc:
            text = self._log.read_text(errors='replace')
            raise process.LabError(f'{program} not started: {text}') from exc

    def stop(self) -> None:
        """Start no more; the process ends with the last that it started."""
        self._control.close()


_starting = threading.Lock()


def shared(python: pathlib.Path, imports: pathlib.Path) -> Forks:
    """Return the process of this Python that has done these imports.

    It starts for the first program that needs it, and ends with this process.
    """
    with _starting:
        return _started(python, imports)


@functools.cache
def _started(python: pathlib.Path, imports: pathlib.Path) -> Forks:
    directory = tempfile.TemporaryDirectory(prefix='ironic-ownership-forks-')
    atexit.register(directory.cleanup)
    made = Forks(python, imports, pathlib.Path(directory.name) / 'forks.log')
    atexit.register(made.stop)
    return made


class Preloaded(process.Process):
    """One program that a process with all imports has started.

    :param program: see :meth:`Forks.start`.
    :param env: variables to add to the environment.
    """

    def __init__(
        self,
        forks: Forks,
        program: str,
        argv: Sequence[str],
        log: pathlib.Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: pathlib.Path | None = None,
    ) -> None:
        super().__init__(argv, log, env=env, cwd=cwd)
        self._forks = forks
        self._program = program

    def start(self) -> process.Process:
        """Start the child, and do not wait for it."""
        self._child = self._forks.start(
            self._program, self.argv, self.log, self._env, self._cwd
        )
        return self


class _Forked:
    """A child of another process, with the methods of ``Popen``.

    Threading: any thread.

    :param answers: receives its process id, and its status when it ends.
    """

    def __init__(self, answers: socket.socket) -> None:
        self._answers = answers
        self._answers.setblocking(False)
        self._lock = threading.Lock()
        self._text = b''
        if not self._receive(1, _IMPORTS):
            raise TimeoutError
        self.pid = int(self._text.split()[0])

    def poll(self) -> int | None:
        """Return its status, as of ``Popen``; ``None`` while it runs."""
        return int(self._text.split()[1]) if self._receive(2, 0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        limit = _IMPORTS if timeout is None else timeout
        if not self._receive(2, limit):
            raise subprocess.TimeoutExpired(str(self.pid), limit)
        return int(self._text.split()[1])

    def send_signal(self, number: int) -> None:
        """Send a signal to it, if it runs."""
        if self.poll() is None:
            # Its parent may have waited for it, and report that soon.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.Signals(number))

    def _receive(self, lines: int, timeout: float) -> bool:
        """Wait for some lines; tell whether they are there."""
        deadline = time.monotonic() + timeout
        while not self._read(lines):
            left = max(deadline - time.monotonic(), 0.0)
            # Not under the lock: another thread may only want to look.
            poll = select.poll()
            poll.register(self._answers, select.POLLIN)
            if not poll.poll(1000 * left):
                return False
        return True

    def _read(self, lines: int) -> bool:
        with self._lock:
            if self._text.count(b'\n') >= lines:
                return True
            try:
                received = self._answers.recv(64)
            except BlockingIOError:
                return False
            if not received:
                raise process.LabError('the process that forks has ended')
            self._text += received
            return self._text.count(b'\n') >= lines
