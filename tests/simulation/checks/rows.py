"""The records, read with plain SQL after each commit."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

Query = Callable[..., Any]
Parts = dict[str, dict[str, tuple[str | None, str]]]
"""The part in a trial and the state of each node of a move, by request."""


class Service(NamedTuple):
    """The row of a service."""

    epoch: int
    fenced: int
    forced_down: int
    disabled: int
    incarnation: str | None

    @property
    def has_right(self) -> bool:
        """True if it may write."""
        return not (self.fenced or self.forced_down)


class Event(NamedTuple):
    """A row of the history."""

    id: int
    at: float
    actor: str
    kind: str
    node: str | None
    source: str | None
    target: str | None
    instance: str | None
    reason: str | None
    request: str | None = None

    def shown(self, writer: str) -> str:
        """Return a line of the story."""
        words = [
            f'{self.kind} by {self.actor} ({writer}):',
            f'node {self.node[-4:]}' if self.node else '',
            f'{self.source} -> {self.target}',
            f'instance {self.instance[-4:]}' if self.instance else '',
            self.reason or '',
        ]
        return ' '.join(word for word in words if word)


@dataclasses.dataclass(frozen=True)
class Rows:
    """The records at one moment.

    :param owners: of the nodes with a record.
    :param instances: open instance and its host, by node.
    :param pauses: shard and end of each, by the database's clock.
    :param holds: request and end of each, by node.
    :param trials: the part in a trial and the state, by request and node.
    """

    services: dict[str, Service]
    owners: dict[str, str | None]
    instances: dict[str, tuple[str, str | None]]
    last_event: int = 0
    pauses: tuple[tuple[str | None, float], ...] = ()
    holds: dict[str, tuple[str, float]] = dataclasses.field(
        default_factory=dict
    )
    trials: Parts = dataclasses.field(default_factory=dict)

    def goes_back(self, uuid: str) -> bool:
        """Tell whether a node is unowned on its way back after a trial."""
        return self.owners.get(uuid) is None and any(
            nodes.get(uuid, (None, ''))[0] == 'back'
            for nodes in self.trials.values()
        )

    def unfinished_trials(self) -> list[str]:
        """Return the requests with nodes on trial, or on their way back."""
        return [
            request
            for request, nodes in self.trials.items()
            if {('first', 'moved'), ('first', 'planned'), ('back', 'planned')}
            & set(nodes.values())
        ]


@dataclasses.dataclass(frozen=True)
class Commit:
    """A transaction: the process that wrote, and what it changed."""

    process: Any
    before: Rows
    now: Rows
    events: list[Event]

    @property
    def is_by_service(self) -> bool:
        """True unless an operator wrote."""
        return hasattr(self.process, 'host')

    @functools.cached_property
    def kinds(self) -> set[str]:
        """The kinds of its events."""
        return {event.kind for event in self.events}

    @functools.cached_property
    def moved(self) -> set[str | None]:
        """The nodes of its moves."""
        return {e.node for e in self.events if e.kind == 'node_moved'}

    @functools.cached_property
    def changed(self) -> list[tuple[str, str | None, str | None]]:
        """The nodes with another owner, and both owners."""
        before, now = self.before.owners, self.now.owners
        return [
            (uuid, before.get(uuid), now.get(uuid))
            for uuid in before.keys() | now.keys()
            if before.get(uuid) != now.get(uuid)
        ]


def read(query: Query, last_event: int, *, has_trials: bool) -> Rows:
    """Read the records.

    :param has_trials: whether there was ever a move with a trial.
    """
    services = {
        host: Service(*rest)
        for host, *rest in query(
            'SELECT host, epoch, fenced, forced_down, disabled, '
            'incarnation FROM services'
        )
    }
    nodes = query(
        'SELECT uuid, host, held_by, held_until FROM compute_nodes '
        'WHERE deleted_at IS NULL'
    ).fetchall()
    instances = {
        node: (uuid, host)
        for node, uuid, host in query(
            'SELECT open_node_uuid, uuid, host FROM instances '
            'WHERE open_node_uuid IS NOT NULL'
        )
    }
    pauses = query('SELECT shard, ends_at FROM pauses').fetchall()
    return Rows(
        services,
        {uuid: host for uuid, host, *_ in nodes},
        instances,
        last_event,
        tuple(pauses),
        {
            uuid: (request, until)
            for uuid, host, request, until in nodes
            if host is None and request is not None
        },
        _trials(query) if has_trials else {},
    )


def _trials(query: Query) -> Parts:
    found: Parts = {}
    for request, node, part, state in query(
        'SELECT request_id, node_uuid, trial, state FROM node_moves '
        'WHERE request_id IN (SELECT request_id FROM node_moves '
        'WHERE trial IS NOT NULL)'
    ):
        found.setdefault(request, {})[node] = part, state
    return found


def read_events(query: Query, after: int) -> list[Event]:
    """Read the events whose number is above one."""
    return [
        Event(*row)
        for row in query(
            'SELECT id, at, actor, kind, node_uuid, from_host, to_host, '
            'instance_uuid, reason, request_id FROM events '
            f'WHERE id > {after} ORDER BY id'
        )
    ]
