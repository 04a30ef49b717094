"""Base class of the private servers: start, stop, freeze."""

from __future__ import annotations

import abc
import pathlib
import shutil
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from lab import process


class Server(abc.ABC):
    """One server with a port and a directory of its own.

    :param directory: an existing directory for all that the server writes.
    :ivar port: where it listens on 127.0.0.1, the same after a restart.
    :ivar name: the name of its directory.
    """

    title: ClassVar[str]
    """The name of the server, for errors."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.port = process.free_port()
        self.name = directory.name
        self._directory = directory
        self._process: process.Process | None = None

    def start(self) -> Self:
        """Start the server and wait until it answers."""
        self.begin()
        self.wait()
        return self

    def begin(self) -> None:
        """Start the server, and do not wait until it answers."""
        self._process = self._prepare().start()

    def wait(self) -> None:
        """Wait until the server answers."""
        self._running().wait_until(self._answers, f'answer of {self.title}')

    def stop(self) -> None:
        """Stop the server; clients are disconnected."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """End the server with SIGKILL."""
        self._running().kill()
        self._process = None

    def restart(self) -> None:
        """Stop the server and start it again on the same port."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Stop the server's process with SIGSTOP; connections stay open."""
        self._running().freeze()

    def thaw(self) -> None:
        """Continue after :meth:`freeze`."""
        self._running().thaw()

    @property
    def pid(self) -> int | None:
        """The id of the server's process, ``None`` while it does not run."""
        return None if self._process is None else self._process.pid

    @abc.abstractmethod
    def _prepare(self) -> process.Process:
        """Return the process to start, its files in place."""

    @abc.abstractmethod
    def _answers(self) -> bool:
        """Tell whether the server answers."""

    def _running(self) -> process.Process:
        if self._process is None:
            raise process.LabError(f'{self.title} does not run')
        return self._process


class Database(Server):
    """A server with a data directory of its own.

    :param env: variables to add to its environment.
    :param options: more arguments of the server.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        env: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        super().__init__(directory)
        self._env = env
        self._more = tuple(options)
        self._data = directory / 'data'


def program(name: str, package: str, path: str | None = None) -> str:
    """Find a program.

    :param package: the Debian package that has it.
    :param path: directories to search instead of ``PATH``.
    :raises LabError: if it is not installed.
    """
    found = shutil.which(name, path=path)
    if found is None:
        raise process.LabError(
            f'{name} is not installed: install the Debian package {package} '
            '(see bindep.txt)'
        )
    return found
