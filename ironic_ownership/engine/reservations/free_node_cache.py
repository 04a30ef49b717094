"""The free nodes of a scope, as they were a moment ago.

Many who reserve at once share one look at Ironic: which of them gets a node
is Ironic's to say, and who comes too late looks again.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.membership import fence

LONGEST_AGE = 5.0
"""Seconds for which a look is good enough to begin with."""

ENOUGH = 250
"""Free nodes that are asked for at first: more than are reserved before
somebody looks again, and a fraction of a second for Ironic."""

_Key = tuple[model.Scope, str | None]


@dataclasses.dataclass(frozen=True)
class Look:
    """What was seen.

    :param fleet: ``None`` if Ironic does not tell its conductors.
    """

    nodes: Sequence[model.Node]
    fleet: evaluation.Fleet | None


class FreeNodeCache:
    """Looks at Ironic for everybody in this process.

    Threading: any thread. One of them asks for some nodes, and the others
    wait for it; whoever wants all of them asks alone.

    :param source_of: gives each thread a source of its own.
    """

    def __init__(
        self,
        source_of: Callable[[], inventory.Inventory],
        *,
        longest_age: float = LONGEST_AGE,
        clock: fence.Clock = fence.monotonic,
    ) -> None:
        self._source_of = source_of
        self._longest_age = longest_age
        self._clock = clock
        self._lock = threading.Lock()
        self._looks: dict[_Key, tuple[float, Look]] = {}

    def some(self, scope: model.Scope, resource_class: str | None) -> Look:
        """Return free nodes, perhaps not all of them, and not the newest.

        :param resource_class: exactly as in Ironic; any, if not given.
        :raises IronicError: if Ironic does not answer.
        """
        key = scope, resource_class
        with self._lock:
            now = self._clock()
            self._looks = {
                known: seen
                for known, seen in self._looks.items()
                if now - seen[0] <= self._longest_age
            }
            if key in self._looks:
                return self._looks[key][1]
            source = self._source_of()
            nodes = source.free(
                scope, resource_class=resource_class, enough=ENOUGH
            )
            look = Look(nodes, _fleet(source))
            self._looks[key] = now, look
            return look

    def all(self, scope: model.Scope) -> Look:
        """Return every node of the scope as it is now, free or not.

        :raises IronicError: if Ironic does not answer.
        """
        source = self._source_of()
        return Look(source.scan(scope), _fleet(source))

    def get(self, uuid: str) -> model.Node | None:
        """Look one node up as it is now."""
        return self._source_of().get(uuid)

    def forget(self) -> None:
        """Let the next one look again."""
        with self._lock:
            self._looks = {}


def _fleet(source: inventory.Inventory) -> evaluation.Fleet | None:
    try:
        return evaluation.Fleet.of(source.conductors())
    except exceptions.IronicTooOldError:
        return None
