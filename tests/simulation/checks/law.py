"""The evidence from which laws are evaluated, and the base of the laws."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tests.simulation.checks.rows import Commit, Event, Query, Rows

if TYPE_CHECKING:
    from tests.simulation.deployment import ServiceProcess, Site

SLACK = 1.002
"""By how much a clock may be slower than another."""


class ViolationError(AssertionError):
    """A law was broken.

    :ivar story: what led to it, line by line.
    """

    def __init__(self, law: str, text: str, story: list[str]) -> None:
        super().__init__(f'{law}: {text}')
        self.law, self.story = law, story


class Evidence:
    """The deployment, its records, and what happened so far.

    :ivar nodes: the uuids of all nodes that Ironic ever had.
    :ivar broken: the first violation.
    :ivar restored_at: when the records became those of an older copy.
    :ivar emptied_at: when the store of the members lost some of them.
    """

    site: Site
    query: Query

    def __init__(self) -> None:
        self.lines: collections.deque[str] = collections.deque(maxlen=4000)
        self.broken: ViolationError | None = None
        self.rows = Rows({}, {}, {})
        self.nodes: set[str] = set()
        self.restored_at = self.emptied_at = float('-inf')

    @property
    def rebalances(self) -> bool:
        """True if owners may change without an operator."""
        return self.runs('peer_list')

    @property
    def reserves(self) -> bool:
        """True if services own what they reserve."""
        return self.runs('reservation')

    def runs(self, name: str) -> bool:
        """Tell whether a service has a policy."""
        settings = self.site.policies.values()
        return any(p.name == name for one in settings for p in one.policies)

    @property
    def has_jumped(self) -> bool:
        """True if a transaction may have read the clock before its jump."""
        database = self.site.database
        return self.site.loop.now - database.jumped_at <= database.idle

    def processes(self, host: str) -> Iterator[ServiceProcess]:
        """Return the processes of a service that live."""
        for process in self.site.machines.values():
            if process.host == host and not process.is_dead:
                yield process

    def tell(self, text: str) -> None:
        """Add a line to the story."""
        self.lines.append(f'{self.site.loop.now:9.2f} {text}')

    def violate(self, law: str, text: str) -> None:
        """Note that a law is broken."""
        if self.broken is None:
            self.tell(f'VIOLATION of {law}: {text}')
            self.broken = ViolationError(law, text, list(self.lines)[-40:])


class Law:
    """The base of the laws.

    :ivar follow: evaluates an event in its commit, by its kind.
    """

    def __init__(self, seen: Evidence) -> None:
        self.seen, self.violate = seen, seen.violate
        self.follow: dict[str, Callable[[Event, Commit], None]] = {}

    @property
    def site(self) -> Site:
        """The deployment."""
        return self.seen.site

    def written(self, commit: Commit) -> None:
        """Evaluate what a transaction has changed, before its events."""

    def settled(self, commit: Commit) -> None:
        """Evaluate or note what a transaction has changed, after them."""

    def listed(self, process: Any, method: str, scope: Any) -> None:
        """Evaluate or note that a process asks Ironic for nodes."""

    def restored(self) -> None:
        """Forget what a copy of the records does not have."""
