"""A nova-compute that stops itself in the middle of a pass of its tracker.

Run by Nova's Python in the place of the program ``nova-compute``. If there is
a file ``stop`` in its state path, the next pass ends it with SIGSTOP after the
driver has described a node, and before the tracker has taken its lock. When it
continues, all other threads run first.
"""

import functools
import os
import pathlib
import signal
import sys
import time

import nova.conf
from nova.cmd import compute
from nova.compute import resource_tracker

TRACKER = resource_tracker.ResourceTracker
HEAD_START = 3.0
"""Seconds for the threads that notice what the process has lost."""


def interrupted(plain):
    @functools.wraps(plain)
    def update(*args, **kwargs):
        mark = pathlib.Path(nova.conf.CONF.state_path, 'stop')
        if mark.exists():
            mark.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(HEAD_START)
            mark.with_name('continued').touch()
        return plain(*args, **kwargs)

    return update


TRACKER._update_available_resource = interrupted(
    TRACKER._update_available_resource
)

if __name__ == '__main__':
    sys.exit(compute.main())
