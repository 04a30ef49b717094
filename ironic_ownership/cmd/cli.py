"""``ironic-ownership``: the operators' command line.

The version must stay cheap. What takes time to import is imported by ``main``,
so that an interrupt at any moment ends the process quietly.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys

TYPE_CHECKING = False  # typing takes as long to import as all of this
if TYPE_CHECKING:
    from collections.abc import Sequence

_ERROR = 1
_INTERRUPTED = 130
_BROKEN_PIPE = 141

_COLLECTIONS = (200_000, 20, 50)
"""Thresholds of the garbage collector: imports make 150,000 values that stay,
and a list makes many, each for a moment. Python's own would look through all
of them a thousand times."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    :param argv: arguments; those of the process by default.
    :returns: the exit code, see ``--help``. Wrong options exit with 2.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    code = 0
    for name in ('stdin', 'stdout', 'stderr'):
        if getattr(sys, name) is None:  # the caller has closed it
            opened = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(opened, 'r+'))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A reason or a name may have characters that the terminal has not.
        sys.stdout.reconfigure(errors='backslashreplace')
    try:
        code = _version() if words == ['--version'] else _run(words)
        # Errors of buffered output belong to this command.
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return _BROKEN_PIPE
    except OSError as exc:
        _abandon_output()
        if code != _ERROR:  # else it has been reported already
            sys.stderr.write(f'ironic-ownership: error: {exc}\n')
        return _ERROR
    return code


def _abandon_output() -> None:
    """Keep Python from writing the buffered output again at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _version() -> int:
    from ironic_ownership import program

    sys.stdout.write(f'{program.version()}\n')
    return 0


def _run(words: list[str]) -> int:
    gc.set_threshold(*_COLLECTIONS)
    # At its end an interpreter collects garbage in all that was imported,
    # which would take a fifth of a short command.
    atexit.register(gc.freeze)

    from ironic_ownership.cli import app
    from ironic_ownership.contracts.calls import note_interrupts

    note_interrupts()
    return app.run(words)


if __name__ == '__main__':
    sys.exit(main())
