"""Base class of the private OpenStack services: processes with a URL."""

from __future__ import annotations

import abc
import contextlib
import os
import pathlib
import signal
import types
from typing import ClassVar, Self

from lab import process


class Service(abc.ABC):
    """One service with its files in one directory.

    :param directory: created if missing; existing files are used again.
    :param port: where to listen on 127.0.0.1; a free port if not given.
    """

    title: ClassVar[str]
    """The name of the service, for errors."""

    def __init__(
        self, directory: pathlib.Path, *, port: int | None = None
    ) -> None:
        self.directory = directory.absolute()
        self.port = port or process.free_port()
        self._process: process.Process | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def endpoint(self) -> str:
        """URL of the API."""
        return f'http://127.0.0.1:{self.port}'

    @property
    def pid(self) -> int:
        """The process id of the running service."""
        if self._process is None:
            raise process.LabError(f'{self.title} was not started')
        return self._process.pid

    def start(self) -> None:
        """Start the service and wait until its API answers.

        Also restarts it, on the same port and with the same data. Does
        nothing if it runs.

        :raises LabError: with the end of its log, if it does not start.
        """
        if self._process is not None and self._process.returncode is None:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        self._process = self._prepare().start()
        try:
            self._process.wait_until(
                lambda: process.answers_tcp(self.port) and self._works(),
                f'an answer of {self.title}',
            )
        except process.LabError:
            self.kill()
            raise

    def stop(self) -> None:
        """Stop the service; its data stay on disk."""
        if self._process is not None:
            self._process.stop()
        self.kill()

    def kill(self) -> None:
        """Kill the service, as a crash would."""
        running, self._process = self._process, None
        if running is None:
            return
        # Its workers are children of the process, and would continue to
        # answer for a while.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.kill()

    def _gunicorn(self, application: str, threads: int = 2) -> dict[str, str]:
        """Return the environment in which gunicorn serves an application.

        A service would parse the arguments of its server.
        """
        settings = self.directory / 'gunicorn.conf.py'
        settings.write_text(
            f"bind = '127.0.0.1:{self.port}'\n"
            f'threads = {threads}\n'
            # Of a worker that starts, or works, on a busy machine.
            'timeout = 600\n'
            f'wsgi_app = {application!r}\n'
        )
        return {'GUNICORN_CMD_ARGS': f'--config {settings}'}

    @abc.abstractmethod
    def _prepare(self) -> process.Process:
        """Return the process to start, with its files and data created.

        :raises LabError: if they can't be created.
        """

    @abc.abstractmethod
    def _works(self) -> bool:
        """Tell whether a service that listens is ready."""
