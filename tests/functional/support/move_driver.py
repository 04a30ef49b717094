"""Run the program, and let it signal itself at one of its statements.

    python -m tests.functional.support.move_driver NUMBER SIGNAL TEXT WORD ...

Before the statement of this number, counted from 1 among those that contain
the text, or before that commit if the text is COMMIT, the process sends
itself the signal. Batches have two nodes, so that a small move has several.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import sqlalchemy
from sqlalchemy import event

from ironic_ownership.cmd import cli
from ironic_ownership.engine.changes import moves as move_nodes


class _Trap:
    def __init__(
        self, number: int, number_of_signal: signal.Signals, text: str
    ):
        self._left, self._signal, self._text = number, number_of_signal, text

    def statement(self, conn: Any, cursor: Any, text: str, *_: Any) -> None:
        self._pass(text)

    def commit(self, conn: Any) -> None:
        self._pass('COMMIT')

    def _pass(self, text: str) -> None:
        if self._text in ' '.join(text.split()):
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), self._signal)


def main() -> int:
    number, name, text, *words = sys.argv[1:]
    trap = _Trap(int(number), signal.Signals[name], text)
    event.listen(sqlalchemy.Engine, 'before_cursor_execute', trap.statement)
    event.listen(sqlalchemy.Engine, 'commit', trap.commit)
    move_nodes.BATCH = 2
    return cli.main(words)


if __name__ == '__main__':
    sys.exit(main())
