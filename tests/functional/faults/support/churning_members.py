"""Many members in one process, who come and go all the time.

Each is a host with everything that a process of its own would have, except
the process: fifty of those would be more than the machine can bear. Every
other life ends without a word, as by a crash. To be run instead of the host's
program, with the names of the members before its options; SIGTERM ends it.
"""

from __future__ import annotations

import itertools
import random
import signal
import sys
import threading

from oslo_log import log

from ironic_ownership import wiring
from ironic_ownership.conf import new
from tests.functional.faults.support import writers

PROG = 'crowd'
LIFE = (1.0, 6.0)
"""Seconds from a start to the next stop."""


def _nothing(*args: object, **options: object) -> None:
    pass


def _live(name: str, files: list[str], ending: threading.Event) -> None:
    chance = random.Random(name)
    for life in itertools.count(1):
        conf = new(files, PROG)
        conf.set_override('host', name)
        url = writers.login(conf.database.connection, f'{name}_{life}')
        conf.set_override('connection', url, 'database')
        wired = wiring.Wiring(conf)
        host = wired.host()
        if life % 2:
            host.member.leave = _nothing  # type: ignore[method-assign]
        running = threading.Thread(target=host.run)
        running.start()
        ending.wait(chance.uniform(*LIFE))
        host.stop()
        running.join()
        wired.close()
        if ending.is_set():
            return


def main() -> int:
    """Let all members live until SIGTERM."""
    first = sys.argv.index('--config-file')
    names, files = sys.argv[1:first], sys.argv[first:]
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    log.setup(new(files, PROG), PROG)
    ending = threading.Event()
    lives = [
        threading.Thread(target=_live, args=(name, files, ending))
        for name in names
    ]
    for life in lives:
        life.start()
    signal.sigwait({signal.SIGTERM})
    ending.set()
    for life in lives:
        life.join()
    return 0


if __name__ == '__main__':
    sys.exit(main())
