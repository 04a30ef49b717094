"""A file system that can be filled up without harm to the machine's."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import subprocess

from lab import process


class SmallDisk:
    """A file system in memory, mounted on a directory. Needs root.

    :param directory: an existing directory that nothing is in.
    :param size: bytes that fit.
    """

    def __init__(self, directory: pathlib.Path, size: int) -> None:
        self.directory = directory
        self._filler = directory / 'filler'
        done = subprocess.run(
            [
                'mount',
                *('-t', 'tmpfs'),
                *('-o', f'size={size},mode=1777'),
                *('tmpfs', str(directory)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise process.LabError(
                f'cannot mount a file system on {directory}; a full disk '
                f'cannot be tried here without root: {done.stderr.strip()}'
            )

    def fill(self) -> None:
        """Take all that is free now, and whatever becomes free meanwhile."""
        with self._filler.open('ab', buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while file.write(b'x' * size) == size:
                        pass

    @property
    def is_full(self) -> bool:
        """Whether not one more page fits."""
        probe = self.directory / 'probe'
        try:
            probe.write_bytes(b'x')
        except OSError as exc:
            return exc.errno == errno.ENOSPC
        finally:
            probe.unlink(missing_ok=True)
        return False

    def free(self) -> None:
        """Give the space back."""
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount; who still has files open keeps them until it closes."""
        if os.path.ismount(self.directory):
            subprocess.run(['umount', '-l', str(self.directory)], check=True)
