"""Time for which nodes were without a service that may act on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection

from benchmarks.nemesis.observer import Snapshot


@dataclasses.dataclass(frozen=True, order=True)
class Gap:
    """A time without a service that may act on a node."""

    seconds: float = 0.0
    since: float = 0.0
    node: str = ''
    owner: str | None = dataclasses.field(default=None, compare=False)


class Coverage:
    """Follows each node from snapshot to snapshot.

    :param present: returns the nodes that Ironic has.
    :param serving: returns the services with a process that can work.
    :ivar longest: the longest time of a free node.
    :ivar longest_deployed: the same of a node with an instance, which waits
        for its own service or for an operator.
    """

    def __init__(
        self,
        present: Callable[[], Collection[str]],
        serving: Callable[[], Collection[str]],
    ) -> None:
        self._present = present
        self._serving = serving
        self._since: dict[str, float] = {}
        self.longest = Gap()
        self.longest_deployed = Gap()

    def take(self, snapshot: Snapshot) -> None:
        """Take a snapshot into account."""
        present = set(self._present())
        serving = {
            host
            for host in self._serving()
            if (row := snapshot.services.get(host)) is not None
            and not (row.fenced or row.forced_down)
        }
        for node in present:
            if snapshot.owners.get(node) in serving:
                self._since.pop(node, None)
            else:
                self._note(node, snapshot)
        for node in self._since.keys() - present:
            del self._since[node]

    def _note(self, node: str, snapshot: Snapshot) -> None:
        since = self._since.setdefault(node, snapshot.at)
        owner = snapshot.owners.get(node)
        gap = Gap(snapshot.at - since, since, node, owner)
        if node in snapshot.instances:
            self.longest_deployed = max(self.longest_deployed, gap)
        else:
            self.longest = max(self.longest, gap)
