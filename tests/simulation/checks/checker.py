"""The checker: evaluates the laws after each commit.

It compares the rows with those before, and knows the one process that wrote,
what is true in Ironic, and what each process believes that it may do.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tests.simulation.checks import rows
from tests.simulation.checks.instances import Instances
from tests.simulation.checks.law import Evidence
from tests.simulation.checks.owners import Owners
from tests.simulation.checks.permissions import Permissions
from tests.simulation.checks.rights import Rights
from tests.simulation.checks.trials import Trials

if TYPE_CHECKING:
    from tests.simulation.deployment import Site
    from tests.simulation.loop import Process

_OUT_OF_ORDER = 200
"""Events before the last one that may still appear, with several writers."""


class Checker(Evidence):
    """Evaluates the laws while a schedule runs.

    :ivar events: how many it has seen.
    :ivar history: the events, each with its writer: see ``tests/model``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.events = 0
        self.history: list[dict[str, Any]] = []
        self._known: set[int] = set()
        self.rights = Rights(self)
        self.instances = Instances(self)
        self.permissions = Permissions(self)
        self._laws = (
            *(self.rights, Owners(self), self.instances),
            *(Trials(self), self.permissions),
        )

    def watch(self, site: Site) -> None:
        """Evaluate the laws in a deployment."""
        self.site, self.query = site, site.database.query
        site.database.committed = self.committed
        site.bare_metal.on_list = self._listed
        self.nodes |= set(site.bare_metal.nodes)

    def _listed(self, method: str, scope: Any) -> None:
        for law in self._laws:
            law.listed(self.site.loop.process, method, scope)

    def restored(self) -> None:
        """Take the records as they are: an older copy."""
        self.restored_at = self.emptied_at = self.site.loop.now
        self._known = {row[0] for row in self.query('SELECT id FROM events')}
        self.rows = dataclasses.replace(
            self._read(), last_event=max(self._known, default=0)
        )
        for law in self._laws:
            law.restored()

    def committed(self, process: Process, written: set[str]) -> None:
        """Evaluate what a transaction has changed."""
        before, now = self.rows, self._read()
        events = [
            event
            for event in rows.read_events(
                self.query, before.last_event - _OUT_OF_ORDER
            )
            if event.id not in self._known
        ]
        if events:
            self._known.update(event.id for event in events)
            last = max(before.last_event, events[-1].id)
            now = dataclasses.replace(now, last_event=last)
        self.rows = now
        self.events += len(events)
        writer = getattr(process, 'writer', process.name)
        for event in events:
            self.history.append({**event._asdict(), 'writer': writer})
            self.tell(event.shown(writer))
        if before != now:  # revisions and reports change no right
            self._evaluate(rows.Commit(process, before, now, events))

    def _read(self) -> rows.Rows:
        return rows.read(
            self.query, self.rows.last_event, has_trials=self.site.has_trials
        )

    def _evaluate(self, commit: rows.Commit) -> None:
        for law in self._laws:
            law.written(commit)
        for event in commit.events:
            for law in self._laws:
                if (follow := law.follow.get(event.kind)) is not None:
                    follow(event, commit)
        for law in self._laws:
            law.settled(commit)
