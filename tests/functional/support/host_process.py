"""One real host process, with a configuration file and a log of its own."""

from __future__ import annotations

import itertools
import pathlib
import signal
import sys
from collections.abc import Mapping, Sequence

from lab import process
from tests.functional.support import programs

COMMAND = (
    sys.executable,
    '-c',
    'import sys; from ironic_ownership.cmd.host import main; sys.exit(main())',
)
TIMEOUT = 180.0
"""Seconds that anything waited for may take; it mostly takes two."""

LAST_LINES = 12
"""Lines of the log that a failing test shows."""


class Host:
    """One host process.

    :param directory: for its files, each process having its own there.
    :param command: what to run, with its configuration file behind it; a fork
        with all imports if not given.
    :param env: variables to add to its environment.
    :ivar config: its configuration file.
    """

    _numbers = itertools.count(1)

    def __init__(
        self,
        directory: pathlib.Path,
        name: str,
        text: str,
        command: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        stem = f'{name}-{next(self._numbers)}'
        self.log = directory / f'{stem}.log'
        self.config = directory / f'{stem}.conf'
        self.config.write_text(f'{text}\n[DEFAULT]\nlog_file = {self.log}\n')
        arguments = ['--config-file', str(self.config)]
        output = directory / f'{stem}.out'
        self.process = (
            process.Process([*command, *arguments], output, env=env)
            if command
            else programs.begin(programs.HOST, arguments, output, env)
        )

    def terminate(self) -> int:
        """Send SIGTERM and wait for the end.

        :returns: the exit status.
        """
        self.process.signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT)

    def kill(self) -> None:
        self.process.kill()

    def freeze(self) -> None:
        """Stop it with SIGSTOP, and wait until each of its threads has.

        It may hold a lock of the database: see ``dying``.
        """
        self.process.freeze()

    def thaw(self) -> None:
        self.process.thaw()

    def lines(self, text: str = '') -> list[str]:
        if not self.log.exists():
            return []
        return [x for x in self.log.read_text().splitlines() if text in x]

    def output(self) -> str:
        return self.process.log.read_text()

    def troubles(self) -> str:
        """Return its state and what it logged last, for a failing test."""
        warned = [
            line
            for line in self.lines()
            if ' WARNING ' in line or ' ERROR ' in line
        ]
        head = f'{self.name}: exit status {self.process.returncode}'
        last = self.lines()[-LAST_LINES:]
        return '\n  '.join(
            [head, *warned[-5:], 'last:', *last, *self.output().split('\n')]
        )
