"""Threads of plugins at the end of a process.

Python waits for every thread that is no daemon. A plugin that starts one
would keep a stopped service in the process table.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Collection

from oslo_log import log

LOG = log.getLogger(__name__)

PATIENCE = 1.0
"""Seconds for which they may end by themselves."""


def abandon(before: Collection[threading.Thread], code: int) -> None:
    """End the process now if threads would keep it; else return.

    :param before: threads that are not waited for anyway.
    :param code: the exit code.
    """
    until = time.monotonic() + PATIENCE
    left = [
        thread
        for thread in threading.enumerate()
        if not thread.daemon
        and thread not in before
        and thread is not threading.current_thread()
    ]
    for thread in left:
        thread.join(max(0.0, until - time.monotonic()))
    left = [thread for thread in left if thread.is_alive()]
    if not left:
        return
    LOG.warning(
        'the process ends without threads that are no daemons, and that a '
        'plugin did not stop: %s',
        ', '.join(map(_described, left)),
    )
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _described(thread: threading.Thread) -> str:
    target = getattr(thread, '_target', None) or type(thread)
    return f'{thread.name} of {getattr(target, "__module__", "unknown")}'
