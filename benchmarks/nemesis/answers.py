"""Answers of the guards, read from the files of the drivers."""

from __future__ import annotations

import collections
import dataclasses
import pathlib

from benchmarks.nemesis.hosts import HostProcess


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A process acted on a node, under a valid permission.

    :param process: which one, with the number of its life.
    :param begin: just before the question, if there was one.
    :param end: the moment of the act.
    :param how: see the driver.
    """

    process: str
    name: str
    host: str
    begin: float
    end: float
    node: str
    how: str

    def text(self, origin: float) -> str:
        """Return one line; times are relative to ``origin``."""
        return (
            f'{self.end - origin:9.2f} act of {self.process} on {self.node}: '
            f'{self.how}, asked {self.end - self.begin:.2f} s before'
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A service has sent a signed change of a node to Ironic.

    :param sent: just before it was sent.
    :param epoch: under which it was signed.
    :param is_admitted: whether the middleware has let it pass.
    """

    process: str
    host: str
    sent: float
    answered: float
    epoch: int
    node: str
    is_admitted: bool


@dataclasses.dataclass(frozen=True, slots=True)
class ProcessState:
    """State of a process at one moment, as it sees itself.

    :param incarnation: its id as a member.
    :param right: seconds for which it may act without another heartbeat;
        at most 0 if it may not.
    :param threads: names of those that live.
    """

    at: float
    incarnation: str
    right: float
    threads: frozenset[str]


class Reader:
    """Reads the files of all lives of all processes, as they grow.

    :ivar outcomes: number of answers by outcome.
    :ivar states: the latest of each life of each process.
    :ivar requests: the answered ones, until someone clears them.
    :ivar errors: exceptions of the guards that are no refusals.
    """

    def __init__(self) -> None:
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.states: dict[str, ProcessState] = {}
        self.requests: list[Request] = []
        self.errors: list[str] = []
        self._offsets: dict[pathlib.Path, int] = {}

    def read(self, one: HostProcess) -> list[Answer]:
        """Return the permissions since the last call, oldest first."""
        found = []
        for path in list(one.answers):
            for line in self._lines(path):
                answer = self._take(one, path.stem, line)
                if answer is not None:
                    found.append(answer)
            if path != one.answers[-1]:
                one.answers.remove(path)
        return sorted(found, key=lambda answer: answer.end)

    def _lines(self, path: pathlib.Path) -> list[str]:
        if not path.exists():
            return []
        with path.open('rb') as file:
            file.seek(self._offsets.get(path, 0))
            data = file.read()
        # The last line may be unfinished.
        data = data[: data.rfind(b'\n') + 1]
        self._offsets[path] = self._offsets.get(path, 0) + len(data)
        return data.decode(errors='replace').splitlines()

    def _take(
        self, one: HostProcess, process: str, line: str
    ) -> Answer | None:
        kind, _, rest = line.partition(' ')
        words = rest.split()
        if kind == 'act':
            end, begin, node, how = words
            self.outcomes[f'permission {how}'] += 1
            return Answer(
                process,
                one.name,
                one.host,
                float(begin),
                float(end),
                node,
                how,
            )
        if kind == 'count':
            self.outcomes[words[0]] += int(words[1])
        elif kind == 'state':
            at, incarnation, right, *names = words
            self.states[process] = ProcessState(
                float(at), incarnation, float(right), frozenset(names)
            )
        elif kind == 'request':
            sent, answered, epoch, node, outcome = words
            self.outcomes[f'request {outcome}'] += 1
            self.requests.append(
                Request(
                    *(process, one.host, float(sent), float(answered)),
                    *(int(epoch), node, outcome == 'admitted'),
                )
            )
        elif kind == 'error':
            self.errors.append(f'{process}: {rest}')
        return None
