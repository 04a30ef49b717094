"""A real host process that is asked for permissions all the time.

Runs the program of the host in this process, and asks its guard about random
nodes in a thread of its own. Each answer is a line of a file:

``yes BEGIN END NODE``
    the guard allowed to act on the node;
``count OUTCOME NUMBER``
    how often it refused since the last such line, by the class of the error;
``threads NAME ...``
    the threads that live;
``error TEXT``
    an exception that is no refusal.

Times are seconds of the clock of the run.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import random
import sys
import threading
import time
from typing import TextIO

from benchmarks.nemesis import broken, clock
from ironic_ownership import wiring
from ironic_ownership.cmd import host as program
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host.process import Host

_REPORT_INTERVAL = 2.0
_FENCED_PAUSE = 4
"""A standby refuses at once, and would ask more than all others."""

_HOT = 6
"""The first nodes of the list are those of the present faults."""


class Asker:
    """Asks the guard of one host, until the process ends.

    :param nodes: file with the uuids to ask for, one a line; the first ones
        are asked for as often as all others.
    """

    def __init__(
        self,
        host: Host,
        answers: TextIO,
        nodes: pathlib.Path,
        interval: float,
    ) -> None:
        self._host = host
        self._answers = answers
        self._nodes = nodes
        self._interval = interval
        self._outcomes: collections.Counter[str] = collections.Counter()

    def run(self) -> None:
        """Ask, and report."""
        uuids: list[str] = []
        due = 0.0
        while True:
            if clock.now() >= due:
                due = clock.now() + _REPORT_INTERVAL
                uuids = self._nodes.read_text().split()
                self._report()
            pause = self._interval
            if uuids:
                few = uuids[:_HOT] if random.random() < 0.5 else uuids
                if self._ask(random.choice(few)) is exceptions.FencedError:
                    pause *= _FENCED_PAUSE
            time.sleep(pause)

    def _ask(self, uuid: str) -> type[Exception] | None:
        """Ask for one node, and return the class of the refusal."""
        begin = clock.now()
        try:
            self._host.guard(uuid)
        except exceptions.OwnershipError as exc:
            self._outcomes[type(exc).__name__] += 1
            return type(exc)
        except Exception as exc:  # noqa: BLE001 - a finding of the run
            self._write(f'error guard: {exc!r}')
            return type(exc)
        self._write(f'yes {begin:.4f} {clock.now():.4f} {uuid}')
        return None

    def _report(self) -> None:
        for outcome, number in self._outcomes.items():
            self._write(f'count {outcome} {number}')
        self._outcomes.clear()
        names = sorted(t.name for t in threading.enumerate())
        self._write(f'threads {clock.now():.2f} {" ".join(names)}')

    def _write(self, line: str) -> None:
        self._answers.write(' '.join(line.split('\n')) + '\n')
        self._answers.flush()


def main() -> int:
    """Run the host program with the arguments that follow our own."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--answers', type=pathlib.Path, required=True)
    parser.add_argument('--nodes', type=pathlib.Path, required=True)
    parser.add_argument('--interval', type=float, required=True)
    parser.add_argument('--broken', default='')
    options, rest = parser.parse_known_args()
    if options.broken:
        broken.BREAKAGES[options.broken]()
    answers = options.answers.open('a')
    build = wiring.Wiring.host

    def build_and_ask(self: wiring.Wiring) -> object:
        built = build(self)
        asker = Asker(built[0], answers, options.nodes, options.interval)
        threading.Thread(target=asker.run, name='asker', daemon=True).start()
        return built

    wiring.Wiring.host = build_and_ask  # type: ignore
    return program.main(rest)


if __name__ == '__main__':
    sys.exit(main())
