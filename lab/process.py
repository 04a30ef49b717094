"""Child processes: start, wait until ready, freeze, end by process id."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

_PORTS = range(20000, 30000)
"""Below the ports of outgoing connections, which could take the port of a
server before it starts, or while it is down."""

_SIGNALS = re.compile('^(?:Sig|Shd).*|^State.*', re.MULTILINE)
_SHORTEST, _LONGEST = 0.05, 0.25
"""Seconds between two probes."""
_REST = 2.0
"""Most seconds after a probe that takes long: twice as long as it took."""

_reserved: list[socket.socket] = []


class LabError(Exception):
    """A server did not start, or did not do what the lab needs."""


def output(
    argv: Sequence[str | pathlib.Path],
    *,
    standard_input: bytes = b'',
    cwd: pathlib.Path | None = None,
    user: str | None = None,
    timeout: float = 600,
) -> bytes:
    """Run a program to its end, and return what it printed.

    :raises LabError: with what it said, if it fails.
    """
    done = subprocess.run(
        argv,
        input=standard_input,
        capture_output=True,
        cwd=cwd,
        user=user,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors='replace').strip()
        raise LabError(f'{pathlib.Path(argv[0]).name}: {said}')
    return done.stdout


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that no other process uses.

    The port is reserved until this process ends, whether a server listens on
    it or not: the UDP port of the same number is the lock for other processes
    of the lab.

    :raises LabError: if there is none.
    """
    for port in random.sample(_PORTS, len(_PORTS)):
        held = socket.socket(type=socket.SOCK_DGRAM)
        try:
            held.bind(('127.0.0.1', port))
            with socket.socket() as probe:
                probe.bind(('127.0.0.1', port))
        except OSError:
            held.close()
            continue
        _reserved.append(held)
        return port
    raise LabError(f'no free port from {_PORTS[0]} to {_PORTS[-1]}')


def answers_tcp(port: int) -> bool:
    """Tell whether something accepts connections on a port of 127.0.0.1."""
    with contextlib.suppress(OSError):
        socket.create_connection(('127.0.0.1', port), timeout=1).close()
        return True
    return False


def pauses() -> Iterator[None]:
    """Sleep between the probes of something that is waited for.

    Longer and longer, so that what waits leaves the processor to what it
    waits for. No wait lasts a tenth longer because of it, unless a probe is
    a program, which takes long itself.
    """
    start = time.monotonic()
    took = 0.0
    while True:
        waited = time.monotonic() - start
        grown = min(max(waited / 10, _SHORTEST), _LONGEST)
        time.sleep(max(grown, min(2 * took, _REST)))
        before = time.monotonic()
        yield
        took = time.monotonic() - before


def wait_for(
    ready: Callable[[], object], what: str, *, timeout: float = 180
) -> None:
    """Wait until a probe succeeds.

    :param what: the expected event, for the error.
    :param timeout: seconds.
    :raises LabError: if the time is up first.
    """
    deadline = time.monotonic() + timeout
    pausing = pauses()
    while not ready():
        if time.monotonic() > deadline:
            raise LabError(f'no {what} within {timeout} s')
        next(pausing)


def signals_of(pid: int) -> str:
    """Return the signals of each thread of a process, as Linux has them."""
    return '\n'.join(
        f'{task.name}: {" ".join(_SIGNALS.findall(text))}'
        for task in sorted(pathlib.Path(f'/proc/{pid}/task').iterdir())
        for text in [(task / 'status').read_text()]
    )


def is_stopped(pid: int) -> bool:
    """Tell whether a signal has stopped every thread of a process.

    The signal takes effect with a delay: a thread on another processor may
    still answer a request.
    """
    try:
        tasks = list(pathlib.Path(f'/proc/{pid}/task').iterdir())
    except FileNotFoundError:
        return True
    return all(map(_is_stopped, tasks))


def _is_stopped(task: pathlib.Path) -> bool:
    try:
        status = (task / 'status').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True  # a thread that has ended
    # A dead process stays a zombie while its parent is stopped.
    return any(f'State:\t{state}' in status for state in 'TZX')


class Child(Protocol):
    """A running process: the part of ``Popen`` that is used."""

    pid: int

    def poll(self) -> int | None:
        """Return its status; ``None`` while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return its status."""

    def send_signal(self, number: int, /) -> None:
        """Send a signal to it."""


class Process:
    """A child process with its output in a file.

    :param argv: command and arguments.
    :param log: file that takes standard output and error.
    :param env: variables to add to the environment.
    :param user: run as this user, if this process is root.
    """

    def __init__(
        self,
        argv: Sequence[str],
        log: pathlib.Path,
        *,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        cwd: pathlib.Path | None = None,
    ) -> None:
        self.argv = list(argv)
        self.log = log
        self._env = {**os.environ, **(env or {})}
        self._user = user if os.geteuid() == 0 else None
        self._cwd = cwd
        self._child: Child | None = None

    @property
    def pid(self) -> int:
        """The process id of the running child."""
        if self._child is None:
            raise LabError(f'{self.argv[0]} was not started')
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, or ``None`` while the child runs."""
        return None if self._child is None else self._child.poll()

    def start(self) -> Process:
        """Start the child, and do not wait for it."""
        with self.log.open('ab') as output:
            self._child = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._env,
                cwd=self._cwd,
                user=self._user,
                start_new_session=True,
            )
        return self

    def wait_until(
        self, ready: Callable[[], bool], what: str, *, timeout: float = 180
    ) -> None:
        """Wait until a probe succeeds.

        :param ready: the probe.
        :param what: the expected event, for the error.
        :param timeout: seconds.
        :raises LabError: with the end of the log, if the child ends or the
            time is up first.
        """
        deadline = time.monotonic() + timeout
        pausing = pauses()
        while not ready():
            if self.returncode is not None:
                raise LabError(
                    f'{self.argv[0]} ended with {self.returncode} before '
                    f'{what}:\n{self.tail()}'
                )
            if time.monotonic() > deadline:
                raise LabError(f'no {what} within {timeout} s:\n{self.tail()}')
            next(pausing)

    def tail(self, lines: int = 30) -> str:
        """Return the end of the child's output."""
        text = self.log.read_text(errors='replace')
        return '\n'.join(text.splitlines()[-lines:])

    def signal(self, number: int) -> None:
        """Send a signal to the child, if it still runs."""
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)

    def freeze(self) -> None:
        """Stop the child with SIGSTOP, and wait until every thread stopped.

        :raises LabError: if that does not happen.
        """
        self.signal(signal.SIGSTOP)
        self.wait_until(lambda: is_stopped(self.pid), 'stop')

    def thaw(self) -> None:
        """Continue the child after :meth:`freeze`."""
        self.signal(signal.SIGCONT)

    def wait(self, timeout: float = 180) -> int:
        """Wait for the end of the child.

        :returns: its exit status.
        :raises LabError: if it still runs after ``timeout`` seconds.
        """
        if self._child is None:
            raise LabError(f'{self.argv[0]} was not started')
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired as exc:
            raise LabError(
                f'{self.argv[0]} still runs after {timeout} s'
            ) from exc

    def stop(self, *, timeout: float = 60) -> None:
        """End the child: SIGTERM, then SIGKILL after the time-out."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            if self._child is not None:
                self.wait(timeout)
        except LabError:
            self.kill()

    def kill(self) -> None:
        """End the child with SIGKILL."""
        self.signal(signal.SIGKILL)
        if self._child is not None:
            self._child.wait()
