"""A small file system in memory, which tests fill up."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import subprocess

from lab import process


class SmallDisk:
    """A file system in memory, mounted on a directory. Needs root.

    :param directory: an existing, empty directory.
    :param size: in bytes.
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
        """Use all free space, and the space that becomes free meanwhile."""
        with self._filler.open('ab', buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while file.write(b'x' * size) == size:
                        pass

    @property
    def is_full(self) -> bool:
        """``True`` if no page is free."""
        probe = self.directory / 'probe'
        try:
            probe.write_bytes(b'x')
        except OSError as exc:
            return exc.errno == errno.ENOSPC
        finally:
            probe.unlink(missing_ok=True)
        return False

    def free(self) -> None:
        """Free the space again."""
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount; open files stay usable until they are closed."""
        if os.path.ismount(self.directory):
            subprocess.run(['umount', '-l', str(self.directory)], check=True)
