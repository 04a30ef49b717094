"""Snapshot of all nodes on record, for the map and for searching.

A hundred pages of the HTTP service for 100,000 nodes, so it is kept for all
who may read the list, and read again at most once at a time.
"""

from __future__ import annotations

import collections
import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ironic_ownership_console.service import Service

PATH = '/v1/compute-node-records'
_LIMIT = 10_000

STATES = (
    ('free', 'Free'),
    ('used', 'In use'),
    ('unavailable', 'Unavailable'),
    ('filtered', 'Outside of its filter'),
    ('down', 'Owner not alive'),
    ('unowned', 'Unowned'),
)
"""States of a square and their words, from the best to the worst."""

GROUPINGS = {
    'service': 'service',
    'shard': 'shard',
    'conductor_group': 'conductor group',
}

Node = dict[str, Any]


def state_of(node: Node, down: frozenset[str]) -> str:
    """Return the state of a square.

    :param down: services that are not alive.
    """
    if node['service'] is None:
        return 'unowned'
    if node['service'] in down:
        return 'down'
    if node['state'] == 'filtered':
        return 'filtered'
    # Nothing can be scheduled to a node in use either.
    if node['instance_uuid']:
        return 'used'
    return 'free' if node['unavailable'] is None else 'unavailable'


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """All nodes on record at one moment, each with its ``square``."""

    nodes: Sequence[Node]
    read_at: float
    took: float

    def counts(self, grouping: str) -> dict[str, collections.Counter[str]]:
        """Count the nodes by group and state."""
        found: dict[str, collections.Counter[str]] = {}
        for node in self.nodes:
            name = node[grouping] or ''
            found.setdefault(name, collections.Counter())[node['square']] += 1
        return dict(sorted(found.items()))

    def packed(self, age: float) -> dict[str, Any]:
        """Return all nodes in few characters, for the script of the map."""
        codes = {code: number for number, (code, _) in enumerate(STATES)}
        body: dict[str, Any] = {
            'age': age,
            'uuids': [node['uuid'] for node in self.nodes],
            'names': [node['name'] or '' for node in self.nodes],
            'states': ''.join(
                str(codes[node['square']]) for node in self.nodes
            ),
        }
        for grouping in GROUPINGS:
            names = sorted({node[grouping] or '' for node in self.nodes})
            index = {name: number for number, name in enumerate(names)}
            body[grouping] = {
                'names': names,
                'of': [index[node[grouping] or ''] for node in self.nodes],
            }
        return body

    def select(self, text: str, **wanted: str) -> list[Node]:
        """Return the nodes that match.

        :param text: a part of name, uuid or instance, in any case.
        :param wanted: exact values by key; empty ones do not filter.
        """
        text = text.strip().lower()
        filters = [(k, v) for k, v in wanted.items() if v]
        return [
            node
            for node in self.nodes
            if all((node[key] or '') == value for key, value in filters)
            and (
                not text
                or text in node['uuid']
                or text in (node['name'] or '').lower()
                or text in (node['instance_uuid'] or '')
            )
        ]


class Fleet:
    """The last snapshot.

    :param lifetime: seconds for which one is used; longer, if reading it
        takes long.
    """

    def __init__(
        self,
        service: Service,
        lifetime: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._lifetime = lifetime
        self._clock = clock
        self._lock = threading.Lock()
        self._last: Snapshot | None = None

    def read(self, token: str) -> Snapshot:
        """Return a snapshot, for a client that may read the list.

        :raises ServiceError: if it may not, or there is no answer.
        """
        self._service.get(token, PATH, limit=1)
        last = self._last
        if last is not None and not self._is_due(last):
            return last
        # While another request reads it, the last one has to do.
        if not self._lock.acquire(blocking=last is None):
            assert last is not None
            return last
        try:
            last = self._last
            if last is None or self._is_due(last):
                self._last = last = self._fresh(token, self._clock())
            return last
        finally:
            self._lock.release()

    def _is_due(self, last: Snapshot) -> bool:
        return self.age(last) > max(self._lifetime, 10 * last.took)

    def age(self, snapshot: Snapshot) -> float:
        """Return the age of a snapshot in seconds."""
        return self._clock() - snapshot.read_at

    def _fresh(self, token: str, began: float) -> Snapshot:
        down = frozenset(
            one['host']
            for page in self._service.pages(token, '/v1/services', 'services')
            for one in page
            if one['alive'] in ('down', 'away') or one['forced_down']
        )
        nodes = []
        for page in self._service.pages(
            token, PATH, 'compute_node_records', limit=_LIMIT
        ):
            for node in page:
                node['square'] = state_of(node, down)
                nodes.append(node)
        nodes.sort(key=lambda node: node['name'] or node['uuid'])
        return Snapshot(nodes, began, self._clock() - began)
