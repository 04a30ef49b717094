"""Repetition of a read-only command: in place on a terminal, quiet in a pipe.

A terminal always shows how old its table is, and since when it could not be
read again. Into a pipe or file the table is written when it changes.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ironic_ownership import program
from ironic_ownership.cli import errors
from ironic_ownership.contracts import exceptions, texts

INTERVAL = 5
"""Seconds between two reads by default."""

_TICK = 1.0
"""Seconds between two updates of the age."""


OPTION: Mapping[str, Any] = {
    'nargs': '?',
    'type': program.within(float, 1, 3600),
    'const': INTERVAL,
    'metavar': 'SECONDS',
    'help': 'repeat until you interrupt it: redrawn in place on a terminal, '
    f'written when it changes elsewhere (default: {INTERVAL} s)',
}
"""Of argparse, for --watch."""


class Captured(io.StringIO):
    """Takes the output of a command, for the width of another stream."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def isatty(self) -> bool:
        """Tell whether the text ends on a terminal."""
        return bool(self._stream.isatty())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Return that of the other stream."""
        return str(self._stream.encoding)


Show = Callable[[str, float, str], None]
"""Shows a table, its age in seconds and the error since then."""


@contextlib.contextmanager
def screen(stream: Any) -> Iterator[Show]:
    """Yield what shows tables on a stream; rich redraws them on a terminal.

    Into a pipe or a file a table or an error is written when it changes.
    """
    last = ('', '')

    def write(text: str, age: float, error: str) -> None:
        nonlocal last
        if (text, error) == last:
            return
        if text != last[0]:
            stream.write(text)
        if error:
            stream.write(f'{errors.PROG}: {error}\n')
        last = text, error
        stream.flush()

    if not stream.isatty():
        yield write
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    def show(text: str, age: float, error: str) -> None:
        """Redraw the table as far as it fits, and below it its age."""
        found = Text(f'{age:.0f} s old')
        if error:
            found.append(f': {error}').stylize('bold red')
        else:
            found.append('; Ctrl-C ends').stylize('dim')
        rows = [*Text(text.rstrip('\n')).wrap(console, console.width)]
        room = console.height - len(found.wrap(console, console.width))
        if len(rows) > room:
            fitting = max(room - 1, 0)
            more = f'{len(rows) - fitting} more lines do not fit'
            rows[fitting:] = [Text(more, 'dim')]
        live.update(Group(*rows, found), refresh=True)

    console = Console(file=stream)
    with Live(
        console=console, auto_refresh=False, vertical_overflow='crop'
    ) as live:
        yield show


def run(command: Any, once: Callable[[], object], interval: float) -> None:
    """Repeat a command that shows its result.

    :param once: runs it.
    """
    stdout = command.app.stdout

    def read() -> str:
        command.exit_code, command.remarks = errors.ExitCode.DONE, []
        command.app.stdout = captured = Captured(stdout)
        try:
            once()
        finally:
            command.app.stdout = stdout
        return captured.getvalue() + ''.join(f'{s}\n' for s in command.remarks)

    with screen(stdout) as show:
        repeat(read, show, interval)


def repeat(read: Callable[[], str], show: Show, interval: float) -> None:
    """Read and show again and again, until the operator interrupts.

    :param read: returns the table as text.
    :param interval: seconds.
    :raises OwnershipError: if the first read fails.
    """
    text, read_at = read(), time.monotonic()
    due = read_at + interval
    error = ''
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            show(text, time.monotonic() - read_at, error)
            time.sleep(min(_TICK, interval))
            if time.monotonic() < due:
                continue
            try:
                text, error = read(), ''
                read_at = time.monotonic()
            except exceptions.OwnershipError as exc:
                error = texts.printable(errors.line(exc))
            due = time.monotonic() + interval
