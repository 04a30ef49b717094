"""A wall clock that jumps while processes run, by Debian's libfaketime.

The monotonic clocks of the same processes are not affected, as when a time
server or an administrator sets the clock of a machine.
"""

from __future__ import annotations

import pathlib

from lab import process

_LIBRARIES = ('libfaketimeMT.so.1',)
_DIRECTORIES = '/usr/lib/*/faketime'


class Clock:
    """The wall clock of the processes that are started with :attr:`env`.

    :param directory: for the file that holds the offset; readable for the
        users of these processes.
    :param delay: seconds until a process notices a jump. With 0 it reads a
        file whenever it asks for the time or waits, and so uses several times
        as much of a processor.
    """

    def __init__(self, directory: pathlib.Path, delay: int = 0) -> None:
        self._delay = delay
        self._file = directory / 'clock'
        self.jump(0)
        self._file.chmod(0o644)

    @property
    def env(self) -> dict[str, str]:
        """Variables for the environment of a process.

        :raises LabError: if libfaketime is not installed.
        """
        return {
            'LD_PRELOAD': str(_library()),
            'FAKETIME_TIMESTAMP_FILE': str(self._file),
            **self._cache(),
            # Two spellings, of older and newer releases.
            'FAKETIME_DONT_FAKE_MONOTONIC': '1',
            'DONT_FAKE_MONOTONIC': '1',
        }

    def _cache(self) -> dict[str, str]:
        if self._delay:
            return {'FAKETIME_CACHE_DURATION': str(self._delay)}
        return {'FAKETIME_NO_CACHE': '1'}

    def jump(self, seconds: float) -> None:
        """Set the clock ahead of the machine's; behind it if negative."""
        new = self._file.with_suffix('.new')
        new.write_text(f'{seconds:+g}\n')
        new.rename(self._file)


def _library() -> pathlib.Path:
    root = pathlib.Path('/')
    for name in _LIBRARIES:
        for found in root.glob(f'{_DIRECTORIES[1:]}/{name}'):
            return found
    raise process.LabError(
        'libfaketime is not installed: install the Debian package faketime '
        '(see bindep.txt)'
    )
