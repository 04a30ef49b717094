"""The processes of ``--keep``, which ``--stop`` ends."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import time
from collections.abc import Sequence

_PATIENCE = 60.0


class LeftRunning:
    """The process ids of a quickstart, kept in a file.

    :param directory: of that quickstart.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._file = directory / 'running.json'

    def remember(self, pids: Sequence[int]) -> None:
        """Store the process ids."""
        self._file.write_text(json.dumps(list(pids)))

    def pids(self) -> list[int]:
        """Return those that still run, and are processes of the quickstart."""
        if not self._file.exists():
            return []
        return [p for p in json.loads(self._file.read_text()) if self._ours(p)]

    def stop(self) -> int:
        """End them: SIGTERM, then SIGKILL after the time-out.

        :returns: how many were ended.
        """
        pids = self.pids()
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE
        while self.pids() and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in self.pids():
            os.killpg(pid, signal.SIGKILL)  # with the workers it started
        self._file.unlink(missing_ok=True)
        return len(pids)

    def _ours(self, pid: int) -> bool:
        # The id may belong to another process by now.
        try:
            command = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes()
        except OSError:
            return False
        return str(self._directory).encode() in command
