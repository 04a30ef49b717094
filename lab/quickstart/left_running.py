"""What ``--keep`` left running, and how ``--stop`` ends just that."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import time
from collections.abc import Sequence

_PATIENCE = 20.0


class LeftRunning:
    """The processes of a quickstart that were not ended with it.

    :param directory: of that quickstart.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._file = directory / 'running.json'

    def remember(self, pids: Sequence[int]) -> None:
        """Write down what to end later."""
        self._file.write_text(json.dumps(list(pids)))

    def pids(self) -> list[int]:
        """Return those that still run, and are what they were."""
        if not self._file.exists():
            return []
        return [p for p in json.loads(self._file.read_text()) if self._ours(p)]

    def stop(self) -> int:
        """End them: SIGTERM, and SIGKILL when that does not help.

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
        # An id may have been given to somebody else's process since.
        try:
            command = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes()
        except OSError:
            return False
        return str(self._directory).encode() in command
