"""Law 1: no service acts or writes after its fence; who may end a right."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.simulation.checks.law import Evidence, Law
from tests.simulation.checks.rows import Commit, Event, Rows
from tests.simulation.links import EPOCH

if TYPE_CHECKING:
    from tests.simulation.deployment import ServiceProcess


class Rights(Law):
    """Evaluates who writes, who serves, and who is declared dead."""

    def __init__(self, seen: Evidence) -> None:
        super().__init__(seen)
        self._served: dict[tuple[str, int], str | None] = {}
        self.follow = {
            'owner_changed': self._owner_changed,
            'node_moved': self._node_moved,
            'node_reserved': self._reserved,
            'service_died': self._died,
            'service_fenced': self._fenced,
            'nodes_taken_over': self._must_be_idle,
        }

    def written(self, commit: Commit) -> None:
        """No service writes without its right, and no epoch is repeated."""
        self._check_writer(commit)
        self._check_epochs(commit.before, commit.now)

    def believes(self, process: ServiceProcess) -> None:
        """No process acts under an epoch that it was not given."""
        epoch = process.epoch
        if epoch is not None and process.incarnation != self._served.get(
            (process.host, epoch)
        ):
            self.violate(
                'law 1',
                f'{process.name} may act under the epoch {epoch}, which it '
                'was not given',
            )

    def _check_writer(self, commit: Commit) -> None:
        process, before = commit.process, commit.before
        if not commit.is_by_service or before.services == {}:
            return
        row = before.services.get(process.host)
        if commit.kinds & {'service_registered', 'service_retired'}:
            self._check_role(commit)
        elif 'node_moved' in commit.kinds:
            pass  # for an operator: see Instances
        elif row is None or not row.has_right:
            self.violate('law 1', f'{process.name} writes without a right')
        elif EPOCH.get() not in (None, row.epoch):
            self.violate(
                'law 1',
                f'{process.name} writes under the epoch {EPOCH.get()}, and '
                f'{row.epoch} is the current one',
            )
        elif row.incarnation != process.incarnation:
            self.violate(
                'law 1', f'{process.name} writes, and is not active: {row}'
            )

    def _check_role(self, commit: Commit) -> None:
        process = commit.process
        row = commit.before.services.get(process.host)
        if row is None:
            return
        if 'service_registered' in commit.kinds and row.forced_down:
            self.violate('law 1', f'{process.name} registers, forced down')
        active = next(
            (
                p
                for p in self.seen.processes(process.host)
                if p.incarnation == row.incarnation
            ),
            None,
        )
        if active in (None, process) or row.fenced:
            return
        if active.may_act:
            self.violate(
                'law 1',
                f'{process.name} takes the place of {active.name}, which '
                'may act',
            )

    def _check_epochs(self, before: Rows, now: Rows) -> None:
        for host, row in now.services.items():
            old = before.services.get(host)
            if old is not None and row.epoch < old.epoch:
                self.violate(
                    'epochs', f'{host}: {old.epoch}, then {row.epoch}'
                )
            if row.fenced or row.incarnation is None:
                continue
            first = self._served.setdefault((host, row.epoch), row.incarnation)
            if first != row.incarnation:
                self.violate(
                    'epochs', f'{host}: epoch {row.epoch} was given twice'
                )

    def _owner_changed(self, event: Event, commit: Commit) -> None:
        source, target = event.source, event.target
        gains = source if target is None else target
        if event.actor not in (gains, 'operator'):
            self.violate('law 1', f'{event.actor} gives {event.node} away')
        if commit.before.owners.get(str(event.node)) != source:
            self.violate('law 1', f'{event.node} was not of {source}')
        if source and target:
            self._has_ended(event, commit)

    def _node_moved(self, event: Event, commit: Commit) -> None:
        if event.source:
            self._has_ended(event, commit)

    def _has_ended(self, event: Event, commit: Commit) -> None:
        row = commit.now.services.get(str(event.source))
        if row is not None and row.has_right:
            self.violate(
                'law 1',
                f'{event.node} is taken from {event.source}, not fenced',
            )

    def _reserved(self, event: Event, commit: Commit) -> None:
        node, owner = str(event.node), str(event.target)
        if commit.before.owners.get(node) not in (None, owner):
            self.violate('law 1', f'{owner} reserves {node} of another')
        row = commit.now.services.get(owner)
        if row is None or not row.has_right:
            self.violate('law 1', f'{owner} reserves {node}, not serving')

    def _died(self, event: Event, commit: Commit) -> None:
        """Let no store that takes no heartbeats make a service dead.

        Who declares a death has itself been heard since the other expired.
        """
        site = self.site
        # Who reads the database counts by a clock of its own; the other store
        # has the clock of the simulation.
        rate = commit.process.rate if site.in_database else 1.0
        ttl = site.times.ttl / rate
        beats = {**site.database.beats, **site.members.beats}
        heard = [ended for _, ended in beats.get(commit.process.name, ())]
        if not heard and self._leaves(commit.process.name):
            # Its own heartbeats went with it.
            return
        of_host = sorted(
            began
            for machine, found in beats.items()
            if site.hosts.get(machine) == event.source
            # One that leaves in order is gone, and not silent.
            and not self._leaves(machine)
            for began, _ in found
        )
        silent_since = [
            began
            for began, following in itertools.pairwise(
                [*of_host, float('inf')]
            )
            if following - began >= ttl
        ]
        if (
            of_host
            and self.seen.emptied_at < of_host[0]
            and (not heard or min(silent_since) + ttl > max(heard))
        ):
            self.violate(
                'outage',
                f'{event.actor} declares {event.source} dead, silent since '
                f'{silent_since}, and was itself heard at {heard[-1:]}',
            )

    def _leaves(self, machine: str) -> bool:
        found = self.site.machines.get(machine)
        return getattr(found, 'is_stopping', False)

    def _fenced(self, event: Event, commit: Commit) -> None:
        """Law 1: a service that is declared dead does not act.

        A command knows the members of one moment only.
        """
        site = self.site
        misled = max(self.seen.emptied_at, site.database.jumped_at)
        if event.actor == 'operator' and site.loop.now - misled < (
            2 * site.times.ttl
        ):
            return
        self._must_be_idle(event, commit)

    def _must_be_idle(self, event: Event, commit: Commit) -> None:
        host = str(event.source)
        row = commit.before.services.get(host)
        for process in self.seen.processes(host):
            if (
                row is not None
                and row.has_right
                and process.incarnation == row.incarnation
                and process.may_act
            ):
                self.violate(
                    'law 1',
                    f'{event.actor} fences {host}, and {process.name} acts',
                )
