"""A disk that takes its time, as one server sees it.

Every flush to the disk returns late; nothing else does. Needs the right to
trace the server's process.
"""

from __future__ import annotations

import pathlib
from typing import Self

from lab import process, server


class SlowDisk:
    """Delays the flushes of one process while this is open.

    :param pid: of the process.
    :param seconds: that each flush takes longer.
    :param log: file for the output of strace.
    """

    def __init__(self, pid: int, seconds: float, log: pathlib.Path) -> None:
        delay = f'delay_exit={round(seconds * 1e6)}'
        calls = 'fsync,fdatasync'
        self._tracer = process.Process(
            [
                server.program('strace', 'strace'),
                *('-f', '-p', str(pid), '-e', f'trace={calls}'),
                *('-e', f'inject={calls}:{delay}'),
            ],
            log,
        )
        self._pid = pid

    def __enter__(self) -> Self:
        self._tracer.start()
        self._tracer.wait_until(self._attached, 'start of strace')
        return self

    def __exit__(self, *error: object) -> None:
        self._tracer.stop()

    def _attached(self) -> bool:
        # One thread after the other, and any of them may be the one that
        # flushes. Those that start later are traced from their beginning.
        tasks = pathlib.Path(f'/proc/{self._pid}/task').iterdir()
        return all(map(_is_traced, tasks))


def _is_traced(task: pathlib.Path) -> bool:
    try:
        status = (task / 'status').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True  # a thread that has ended
    return 'TracerPid:\t0\n' not in status
