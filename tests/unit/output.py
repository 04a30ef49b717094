"""Output of a program that runs in the process of the tests."""

from __future__ import annotations

import contextlib
import io
import logging
import threading
import warnings
from collections.abc import Iterator
from typing import NamedTuple
from unittest import mock


class Output(NamedTuple):
    out: io.StringIO
    err: io.StringIO


@contextlib.contextmanager
def captured() -> Iterator[Output]:
    """Capture both outputs of the program that this thread runs.

    Threads of other tests log in the same process, and objects that they left
    behind make warnings: neither is the program's.
    """
    output = Output(io.StringIO(), io.StringIO())
    thread = threading.get_ident()
    emit = logging.StreamHandler.emit

    def own(handler: logging.StreamHandler, record: logging.LogRecord) -> None:
        if record.thread == thread:
            emit(handler, record)

    with (
        contextlib.redirect_stdout(output.out),
        contextlib.redirect_stderr(output.err),
        warnings.catch_warnings(action='ignore', category=ResourceWarning),
        # Handlers of one run would write into the output of another.
        mock.patch.object(logging.root, 'handlers', []),
        mock.patch.object(logging.StreamHandler, 'emit', own),
    ):
        yield output
