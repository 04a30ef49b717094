"""A real host process that is asked for permissions all the time.

Runs the program of the host in this process, and asks its guard about random
nodes in a thread of its own. It keeps some of the permissions, and acts under
them until they end. Each act is a line of a file:

``act AT BEGIN NODE HOW``
    it had a valid permission for the node: a new one (``guard``), a renewed
    one (``confirmed``), or one that is valid as far as the process knows
    (``held``). The question, if there was one, began at ``BEGIN``;
``count OUTCOME NUMBER``
    refusals since the last such line, by the class of the error;
``state AT INCARNATION RIGHT NAME ...``
    the id of the process as a member, the seconds for which it may still act
    without another heartbeat, at most 0 if it may not, and its threads that
    live;
``request SENT ANSWERED EPOCH NODE OUTCOME``
    it sent a signed change to Ironic under an epoch; see :mod:`.sender`;
``error TEXT``
    an exception that is no refusal.

Times are seconds of the clock of the run.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import random
import threading
import time
from collections.abc import Callable
from typing import Protocol, TextIO

from benchmarks.nemesis import broken, clock, sender
from ironic_ownership import wiring
from ironic_ownership.cmd import host as program
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host.process import Host

_REPORT_INTERVAL = 2.0
_ACT_INTERVAL = 0.1
"""Seconds between two acts under permissions that are held; these ask no
server, and cost little."""

_FENCED_PAUSE = 4
"""A standby refuses at once, and would ask more than all others."""

_HOT = 6
"""The first nodes of the list are those of the present faults."""

_MOST_HELD = 5
_HELD_UNTIL_ITS_END = 0.6
"""Chance that a question is not followed by a renewal."""


class Permission(Protocol):
    """A permission of the guard, as far as it is used here."""

    @property
    def is_valid(self) -> bool:
        """True if the process may act, as far as it knows."""

    def confirm(self) -> object:
        """Ask again."""


class Asker:
    """Asks the guard of one host, until the process ends.

    :param nodes: file with the uuids to ask for, one a line; the first ones
        are asked for as often as all others.
    :param interval: seconds between two questions.
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
        self._held: list[tuple[str, Permission]] = []

    def permitted(self) -> list[str]:
        """Return the nodes for which there was a permission lately."""
        return [uuid for uuid, _ in list(self._held)]

    def run(self) -> None:
        """Ask, act, and report."""
        report_due = ask_due = 0.0
        while True:
            now = clock.now()
            if now >= report_due:
                report_due = now + _REPORT_INTERVAL
                uuids = self._nodes.read_text().split()
                self._report()
            if now >= ask_due and uuids:
                few = uuids[:_HOT] if random.random() < 0.5 else uuids
                refusal = self._ask(random.choice(few))
                fenced = refusal is exceptions.FencedError
                pause = self._interval * (_FENCED_PAUSE if fenced else 1)
                ask_due = clock.now() + pause
                self._confirm()
            self._act_as_held()
            time.sleep(min(self._interval, _ACT_INTERVAL))

    def _ask(self, uuid: str) -> type[Exception] | None:
        """Ask for one node, and return the class of the refusal."""
        begin = clock.now()
        answers: list[Permission] = []

        def ask() -> None:
            answers.append(self._host.guard.check(uuid))

        refusal = self._refusal(ask)
        if refusal is None:
            permission = answers[0]
            self._act(uuid, permission, begin, 'guard')
            self._held.append((uuid, permission))
            if len(self._held) > _MOST_HELD:
                del self._held[0]
        return refusal

    def _act_as_held(self) -> None:
        """Act under a permission that is held, if it is still valid."""
        if self._held:
            uuid, permission = random.choice(self._held)
            self._act(uuid, permission, clock.now(), 'held')

    def _confirm(self) -> None:
        """Renew now and then a permission that is held, and act."""
        if not self._held or random.random() < _HELD_UNTIL_ITS_END:
            return
        number = random.randrange(len(self._held))
        uuid, permission = self._held[number]
        begin = clock.now()
        refusal = self._refusal(permission.confirm)
        if refusal is None:
            self._act(uuid, permission, begin, 'confirmed')
        else:
            del self._held[number]

    def _act(
        self, uuid: str, permission: Permission, begin: float, how: str
    ) -> None:
        """Act on a node, if the permission is valid at this moment."""
        # The time before the check: the process may be frozen after it.
        now = clock.now()
        if permission.is_valid:
            self.write(f'act {now:.4f} {begin:.4f} {uuid} {how}')

    def _refusal(
        self, question: Callable[[], object]
    ) -> type[Exception] | None:
        """Return the class of the error with which a question ends."""
        try:
            question()
        except exceptions.OwnershipError as exc:
            self._outcomes[type(exc).__name__] += 1
            return type(exc)
        except Exception as exc:  # noqa: BLE001 - a finding of the run
            self.write(f'error guard: {exc!r}')
            return type(exc)
        return None

    def _report(self) -> None:
        for outcome, number in self._outcomes.items():
            self.write(f'count {outcome} {number}')
        self._outcomes.clear()
        incarnation = self._host.member.incarnation
        right = self._host.context.fence.remaining
        names = sorted(t.name for t in threading.enumerate())
        self.write(
            f'state {clock.now():.2f} {incarnation} {right:.2f} '
            f'{" ".join(names)}'
        )

    def write(self, line: str) -> None:
        """Add one line to the file."""
        self._answers.write(' '.join(line.split('\n')) + '\n')
        self._answers.flush()


def main() -> int:
    """Run the host program with the arguments that follow our own."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--answers', type=pathlib.Path, required=True)
    parser.add_argument('--nodes', type=pathlib.Path, required=True)
    parser.add_argument('--interval', type=float, required=True)
    parser.add_argument('--request-interval', type=float, default=0)
    parser.add_argument('--request-port', type=int)
    parser.add_argument('--request-key')
    parser.add_argument('--broken', default='')
    options, rest = parser.parse_known_args()
    if options.broken:
        broken.BREAKAGES[options.broken]()
    answers = options.answers.open('a')
    build = wiring.Wiring.host

    def build_and_ask(self: wiring.Wiring) -> Host:
        built = build(self)
        asker = Asker(built, answers, options.nodes, options.interval)
        threading.Thread(target=asker.run, name='asker', daemon=True).start()
        if options.request_interval:
            sender.Sender(
                built,
                sender.Ironic(options.request_port, options.request_key),
                asker.permitted,
                options.request_interval,
                asker.write,
            ).start()
        return built

    wiring.Wiring.host = build_and_ask  # type: ignore
    return program.main(rest)
