"""One run: rounds of faults and quiet, and the check of each round."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from benchmarks.nemesis import clock, convergence, lapses, members, schedule
from benchmarks.nemesis.admissions import Admissions
from benchmarks.nemesis.answers import Answer, Reader
from benchmarks.nemesis.cluster import HOSTS, Cluster
from benchmarks.nemesis.convergence import Convergence
from benchmarks.nemesis.coverage import Coverage
from benchmarks.nemesis.faults import FAULTS
from benchmarks.nemesis.findings import Findings
from benchmarks.nemesis.history import History
from benchmarks.nemesis.hosts import HostProcess
from benchmarks.nemesis.journal import Journal
from benchmarks.nemesis.observer import ERRORS, Event, Observer
from benchmarks.nemesis.operators import COMMANDS
from benchmarks.nemesis.permissions import Permissions
from benchmarks.nemesis.processors import Processors
from benchmarks.nemesis.schedule import Kind
from benchmarks.nemesis.storm import Fault, Storm
from lab import process

EVENTS = 'events.jsonl'
"""File in the directory of a run: each event, as the model replays it."""

_AROUND = 25.0
"""Seconds of the time line before a violation."""

_KEPT = 600.0
"""Seconds for which faults that have ended are kept."""

_MOST_LINES = 120
_REGISTRATIONS = 1.0
"""Registrations of one service a second, on average of a round."""


class Run:
    """A cluster, its faults, and all that was observed.

    :ivar rounds: rounds that are complete.
    :ivar losses_noticed: logged errors of services that commits were lost.
    :ivar longest_convergence: seconds from the end of the faults until
        everything was as expected, at most.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.findings = Findings()
        self.journal = Journal(cluster.directory / 'faults.log')
        self.observer = Observer(cluster.records, self.findings)
        self.storm = Storm(cluster, self.journal, self.observer)
        self.history = History(HOSTS, self.storm.deleted, self._unlawful)
        self.permissions = Permissions(
            self.history, self.settings.longest_permission, self.journal
        )
        self.admissions = Admissions()
        self.coverage = Coverage(cluster.uuids, self._serving)
        self.reader = Reader()
        self.processors = Processors(cluster.kinds)
        self.rounds = 0
        self.losses_noticed = 0
        self.longest_convergence = 0.0
        self._convergence = Convergence(cluster, self.observer, self.reader)
        self._faults = self._chosen({**FAULTS, **COMMANDS})
        self._events: list[Event] = []
        self._answers: list[Answer] = []

    def _chosen(self, all_kinds: Mapping[Kind, Fault]) -> Mapping[Kind, Fault]:
        """Leave out the kinds that are not wanted or not possible."""
        wanted = self.settings.kinds
        impossible = []
        if self.cluster.scopes.is_exclusive:
            impossible.append('reload-peers')
        else:
            impossible.append('rescope-node')
        if not self.cluster.records.servers:
            # The clock of a file is that of each process.
            impossible += ['records', 'clock-jump']
        if not self.cluster.records.proxies:
            impossible.append('proxy')
        if not self.cluster.records.can_fail_over:
            impossible.append('promote')
        if not self.cluster.records.loses_commits:
            impossible.append('records-rewind')
        if not self.cluster.records.can_be_parted:
            impossible.append('records-isolate')
        if not self.cluster.members.servers:
            impossible.append('members')
        if not isinstance(self.cluster.members, members.Cluster):
            impossible.append('members-isolate')
        return {
            kind: fault
            for kind, fault in all_kinds.items()
            if (not wanted or kind.name in wanted)
            and not any(word in kind.name for word in impossible)
        }

    def run(
        self,
        say: Callable[[str], None],
        save: Callable[[], None] = lambda: None,
    ) -> None:
        """Run all rounds that begin within the time.

        :param say: receives progress, a line a minute.
        :param save: called after each round.
        """
        self.observer.start()
        self.processors.start()
        ended = threading.Event()

        def report() -> None:
            shown = 0
            while not ended.wait(60):
                say(self.progress())
                found = self.findings.all
                for one in found[shown:]:
                    say(f'  violation of {one.law}: {one.text}')
                shown = len(found)

        threading.Thread(target=report, daemon=True).start()
        try:
            self._settle('start')
            self.observer.watch(self.coverage.take)
            self.observer.watch(self.admissions.take)
            deadline = clock.now() + 60 * self.settings.minutes
            while clock.now() < deadline:
                self._round(min(deadline - clock.now(), self.settings.storm))
                save()
        finally:
            ended.set()
            self.observer.stop()
            self.processors.stop()

    def progress(self) -> str:
        """Return one line about what happened so far."""
        minutes = (clock.now() - self.journal.origin) / 60
        return (
            f'{minutes:6.1f} min  round {self.rounds}  '
            f'{self.journal.counts.total()} faults  '
            f'{len(self.history.known)} events  '
            f'{self.reader.outcomes.total()} answers  '
            f'{self.admissions.ended} requests too late  '
            f'{len(self.findings.all)} violations  '
            f'{len(self.storm.troubles)} troubles'
        )

    def _round(self, longest: float) -> None:
        before = dict(self.history.registrations)
        kinds = list(self._faults)
        planned = [
            p
            for p in schedule.of_round(self.settings, self.rounds, kinds)
            if p.at < longest
        ]
        by_name = {kind.name: fault for kind, fault in self._faults.items()}
        began = clock.now()
        self.storm.blow(planned, by_name, COMMANDS.values(), longest)
        self._settle(f'round {self.rounds}')
        self._evaluate()
        for host, number in self.history.registrations.items():
            rate = (number - before.get(host, 0)) / (clock.now() - began)
            if rate > _REGISTRATIONS:
                self._violation(
                    'registrations', f'{host} registers {rate:.1f} times a s'
                )
        self.rounds += 1

    def _settle(self, name: str) -> None:
        """Wait until all is well, and see that it stays so."""
        began = clock.now()
        problems: list[str] = ['not evaluated']
        restored = False
        while problems and clock.now() - began < self.settings.patience:
            time.sleep(0.5)
            self._read_answers()
            try:
                if not restored:
                    self.storm.restore()
                    restored = True
                self.storm.repair_members()
                problems = self._convergence.problems()
            except (*ERRORS, process.LabError) as exc:
                problems = [f'no answer: {exc!r}']
        took = clock.now() - began
        self.longest_convergence = max(self.longest_convergence, took)
        for problem in problems[:10]:
            self._violation(
                'convergence', f'{name}: after {took:.0f} s: {problem}'
            )
        if not problems:
            self._stay(name)

    def _stay(self, name: str) -> None:
        before = self.observer.read()
        time.sleep(2 * self.settings.refresh_interval)
        for change in convergence.changes(before, self.observer.read()):
            self._violation('quiet', f'{name}: {change}')

    def _evaluate(self) -> None:
        """Check events and answers of one round."""
        self._read_answers()
        earlier = self._events
        self._events = self.observer.events(self.history.known)
        with (self.cluster.directory / EVENTS).open('a') as file:
            for event in self._events:
                print(json.dumps(dataclasses.asdict(event)), file=file)
        for event in self._events:
            self.history.follow(event)
            if self.cluster.scopes.is_exclusive and _takes(event):
                self._unlawful('law 5', 'without an assigner', event)
        for event, text in lapses.unlawful(
            self._events, self.journal, self.settings.ttl, earlier=earlier
        ):
            self._unlawful('law 1', text, event)
        snapshot = self.observer.read()
        if snapshot.last_event == max(self.history.known, default=0):
            for difference in self.history.compare(snapshot):
                self._violation('history', difference)
        for answer, reason in self.permissions.wrong(self._answers):
            self._violation(
                'law 1 (guard)',
                f'{answer.process} acts on {answer.node} ({answer.how}) at '
                f'{answer.end - self.journal.origin:.2f}: {reason}',
                at=answer.end,
                node=answer.node,
                host=answer.host,
            )
        self._check_requests([*earlier, *self._events])
        for one in self.cluster.processes.values():
            self._check_log(one)
        for error in self.reader.errors:
            self._violation('guard', error)
        self.reader.errors.clear()
        self._answers.clear()
        self.observer.forget(max(self.history.known, default=0) - 1000)
        self.journal.forget(clock.now() - _KEPT)

    def _check_requests(self, events: Sequence[Event]) -> None:
        """Check the requests of one round that Ironic has answered."""
        answered, self.reader.requests = self.reader.requests, []
        for one, reason in self.admissions.wrong(answered, events):
            self._violation(
                'law 1 (Ironic)',
                f'Ironic admits {one.process} under the epoch {one.epoch} on '
                f'{one.node} at {one.sent - self.journal.origin:.2f}: '
                f'{reason}',
                at=one.sent,
                node=one.node,
                host=one.host,
            )

    def _check_log(self, one: HostProcess) -> None:
        text = one.new_log()
        self.losses_noticed += text.count('the database lost commits')
        for word in ('Traceback (most recent call last)', ' CRITICAL '):
            if word in text:
                at = text.index(word)
                self._violation('log', f'{one.name}: {text[at : at + 2000]}')

    def _read_answers(self) -> None:
        for one in self.cluster.processes.values():
            self._answers += self.reader.read(one)

    def _serving(self) -> Collection[str]:
        frozen = {
            entry.target
            for entry in self.journal.overlapping(clock.now(), clock.now())
            if entry.kind == 'freeze'
        }
        return {
            one.host
            for one in self.cluster.processes.values()
            if one.is_running and one.name not in frozen
        }

    def _unlawful(self, law: str, text: str, event: Event) -> None:
        self._violation(
            law,
            f'{text}: {event.text(self.journal.origin).strip()}',
            at=event.at,
            node=event.node,
            host=event.actor,
        )

    def _violation(
        self,
        law: str,
        text: str,
        *,
        at: float | None = None,
        node: str | None = None,
        host: str | None = None,
    ) -> None:
        when = clock.now() if at is None else at
        self.findings.add(
            law,
            text,
            at=when,
            node=node,
            context=self._time_line(when, node, host),
        )

    def _time_line(
        self, at: float, node: str | None, host: str | None
    ) -> list[str]:
        """Return faults, events and answers around a violation, in order."""
        begin, end = at - _AROUND, at + 5
        origin = self.journal.origin
        lines = [
            (entry.begin, entry.text(origin))
            for entry in self.journal.overlapping(begin, end)
        ]
        lines += [
            (event.at, event.text(origin))
            for event in self._events
            if begin <= event.at <= end
            and (
                event.node == node
                or (event.node is None and host in (None, event.actor))
                or (event.node is None and event.source == host)
            )
        ]
        lines += [
            (answer.end, answer.text(origin))
            for answer in self._answers
            if node == answer.node and begin <= answer.end <= end
        ]
        return [line for _, line in sorted(lines)][-_MOST_LINES:]


def _takes(event: Event) -> bool:
    """Tell whether a node changes its owner without an operator."""
    return event.kind == 'owner_changed' and None not in (
        event.source,
        event.target,
    )
