"""Host processes of the run, each with network paths of its own."""

from __future__ import annotations

import pathlib
import signal
import threading
from collections.abc import Callable, Mapping, Sequence

from lab import faketime, preloaded, process, proxy

Sections = Mapping[str, Mapping[str, object]]

PATHS = ('records', 'members', 'ironic')
"""The network paths of a process that may fail one by one."""

LIVING = frozenset(('heartbeat', 'take-over', 'refresh'))
"""Threads without which an active process does nothing."""

CLOCK_DELAY = 1
"""Seconds until a process notices that its wall clock was set."""

_JUMPING = 3
"""One of so many lives has a wall clock that can be set. The library for it
doubles what a process uses of a processor."""


class HostProcess:
    """One process of a service, in one life after the other.

    :param name: of this process; several may serve one host.
    :param directory: for its files.
    :param paths: proxies by the name of the path.
    :param text: of its configuration, for one life.
    :param number: of this process.
    :param forks: starts a life.
    :param jumping: starts a life whose wall clock can be set.
    :param driver: arguments of the driver, besides those of the answers.
    :ivar clock: its wall clock.
    :ivar changed: options that a reload has changed, by group.
    """

    def __init__(
        self,
        name: str,
        host: str,
        directory: pathlib.Path,
        paths: Mapping[str, Sequence[proxy.Proxy]],
        text: Callable[[HostProcess], str],
        number: int,
        forks: preloaded.Forks,
        jumping: preloaded.Forks,
        driver: Sequence[str],
    ) -> None:
        self.name, self.host = name, host
        self.paths = paths
        self.changed: dict[str, dict[str, object]] = {}
        self.life = 0
        self.answers: list[pathlib.Path] = []
        self.wanted = False
        """Whether it is to run, when no fault prevents it."""
        self.broken = ''
        """Name of what is broken on purpose in its next life."""
        clocks = directory / f'{name}.clock'
        clocks.mkdir()
        self.clock = faketime.Clock(clocks, CLOCK_DELAY)
        self._directory = directory
        self._read: dict[pathlib.Path, int] = {}
        self._text = text
        self._number = number
        self._forks = forks
        self._jumping = jumping
        self._driver = driver
        self._process: process.Process | None = None
        self._writing = threading.Lock()

    @property
    def login(self) -> str:
        """The name of this life, under which it writes records."""
        return f'{self.name}_{self.life}'

    @property
    def can_jump(self) -> bool:
        """True if the wall clock of this life can be set."""
        return (self._number + self.life) % _JUMPING == 0

    @property
    def is_running(self) -> bool:
        """True if its present life has not ended."""
        return self._process is not None and self._process.returncode is None

    def pid(self) -> int | None:
        """Return the process id of its present life."""
        return self._process.pid if self._process is not None else None

    @property
    def log(self) -> pathlib.Path:
        """The log of all its lives."""
        return self._directory / f'{self.name}.log'

    def start(self) -> None:
        """Begin a new life."""
        self.life += 1
        self.wanted = True
        self.changed.clear()
        answers = self._directory / f'{self.login}.answers'
        self.answers.append(answers)
        self.write_configuration()
        self._process = preloaded.Preloaded(
            self._jumping if self.can_jump else self._forks,
            'benchmarks.nemesis.driver:main',
            [
                *('driver', f'--answers={answers}', *self._driver),
                f'--broken={self.broken}',
                f'--config-file={self._directory / self.name}.conf',
            ],
            self._directory / f'{self.name}.out',
            env=self.clock.env if self.can_jump else {},
        ).start()

    def last_words(self) -> str:
        """Return its exit status and the end of its output."""
        if self._process is None:
            return 'not started'
        return f'exit {self._process.returncode}: {self._process.tail(5)}'

    def new_log(self) -> str:
        """Return what it has logged since the last call."""
        found = ''
        for path in (self.log, self._directory / f'{self.name}.out'):
            if path.exists():
                with path.open(errors='replace') as file:
                    file.seek(self._read.get(path, 0))
                    found += file.read()
                    self._read[path] = file.tell()
        return found

    def write_configuration(self) -> None:
        """Write the configuration file, without the process noticing."""
        path = self._directory / f'{self.name}.conf'
        new = path.with_suffix('.new')
        # One fault may end with a reload while another one starts it again.
        with self._writing:
            new.write_text(self._text(self))
            new.rename(path)

    def reload(self) -> None:
        """Write the configuration file and send SIGHUP."""
        self.write_configuration()
        self._signal(signal.SIGHUP)

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """End it with SIGTERM, and with SIGKILL if that does nothing."""
        if self._process is not None:
            self._process.stop(timeout=40)

    def freeze(self) -> None:
        """Stop all its threads with SIGSTOP."""
        if self._process is not None:
            self._process.freeze()

    def thaw(self) -> None:
        """Let it continue."""
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, and its paths."""
        self.kill()
        for proxies in self.paths.values():
            for one in proxies:
                one.close()

    def _signal(self, number: int) -> None:
        if self._process is not None:
            self._process.signal(number)
