"""A host process that stops itself at the worst moment.

Its right was just confirmed, its transaction is still open: there SIGSTOP
hits it, once, when the file that the environment names exists. To be run
instead of the host's program.
"""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from ironic_ownership.cmd.host import main
from ironic_ownership.db import records

VARIABLE = 'STOP_IN_TRANSACTION'


def _interrupt() -> None:
    wanted = pathlib.Path(os.environ[VARIABLE])
    original = records.SqlRecords.apply

    def apply(
        *args: Any, confirm: Callable[[], object] = lambda: None, **how: Any
    ) -> Any:
        def confirmed() -> None:
            confirm()
            if wanted.exists():
                wanted.unlink()
                # To this very thread: sent to the process, another one would
                # take it, and this one go on meanwhile.
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

        return original(*args, confirm=confirmed, **how)

    records.SqlRecords.apply = apply  # type: ignore[method-assign]


if __name__ == '__main__':
    _interrupt()
    sys.exit(main())
