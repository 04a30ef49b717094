"""Laws of trials: some nodes move first, and the others follow or none does.

Reads the rows of the moves; shares no code with the product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.checker import Checker, Event, Rows

Parts = dict[str, dict[str, tuple[str | None, str]]]
"""The part in a trial and the state of each node of a move, by request."""


class Trials:
    """Evaluates the laws of trials.

    :ivar listed_at: when a service last asked Ironic for nodes.
    """

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._moved_at: dict[str, float] = {}
        self._targets: dict[str, str] = {}
        self.listed_at: dict[str, float] = {}

    @property
    def _site(self) -> Any:
        return self._checker._site

    def listed(self, host: str) -> None:
        """Note that a service asks Ironic for nodes."""
        self.listed_at[host] = self._site.loop.now

    def restored(self) -> None:
        """Forget the moves: the records are those of an older copy."""
        self._moved_at.clear()

    def read(self, query: Callable[..., Any]) -> Parts:
        """Return the moves with a trial, or none while there never was one."""
        found: Parts = {}
        if self._site.has_trials:
            for request, node, part, state in query(
                'SELECT request_id, node_uuid, trial, state FROM node_moves '
                'WHERE request_id IN (SELECT request_id FROM node_moves '
                'WHERE trial IS NOT NULL)'
            ):
                found.setdefault(request, {})[node] = part, state
        return found

    def unfinished(self) -> list[str]:
        """Return the requests with nodes on trial, or on their way back."""
        return [
            request
            for request, nodes in self._checker.rows.trials.items()
            if {('first', 'moved'), ('first', 'planned'), ('back', 'planned')}
            & set(nodes.values())
        ]

    def releases(self, rows: Rows, uuid: str) -> bool:
        """Tell whether a node is unowned on its way back to its source."""
        return rows.owners.get(uuid) is None and any(
            nodes.get(uuid, (None, ''))[0] == 'back'
            for nodes in rows.trials.values()
        )

    def moved(self, event: Event, before: Rows) -> None:
        """Others follow when all have passed; of a failed trial none does."""
        request, node = str(event.request), str(event.node)
        nodes = before.trials.get(request)
        if nodes is None:
            return
        part, _ = nodes.get(node, (None, ''))
        others = {part for part, _ in nodes.values() if part}
        if part in (None, 'passed') and others != {'passed'}:
            self._violate(f'{node} follows, and its trial is {others}')
        if part == 'back':
            (source,) = self._query(
                'SELECT source FROM node_moves '
                'WHERE request_id = ? AND node_uuid = ?',
                (request, node),
            )
            if event.target != source:
                self._violate(f'{node} of {source} goes back {event.target}')
        if part == 'first':
            self._moved_at[request] = self._site.loop.now
            self._targets[request] = str(event.target)

    def written(self, before: Rows, now: Rows) -> None:
        """One result counts; a trial passes after a refresh of its owner."""
        for request, nodes in now.trials.items():
            if nodes == before.trials.get(request):
                continue
            parts = {part for part, _ in nodes.values() if part}
            if {'passed', 'back'} <= parts:
                self._violate(f'{request} has passed and failed')
            old = before.trials.get(request, {})
            for uuid, (part, state) in nodes.items():
                was, _ = old.get(uuid, (part, ''))
                if was != part and was != 'first':
                    self._violate(f'{uuid} of {request}: {was}, then {part}')
                if was == 'first' and part == 'passed':
                    self._passed(request, uuid, state)

    def _passed(self, request: str, uuid: str, state: str) -> None:
        if state not in ('moved', 'unchanged'):
            self._violate(f'{request} passes, and {uuid} is {state}')
        target = self._targets.get(request)
        # Without a node that moved there is nothing to wait for.
        moved_at = self._moved_at.get(request, float('inf'))
        jumped = self._site.database.jumped_at >= moved_at
        if target and not jumped and self.listed_at.get(target, 0) < moved_at:
            self._violate(f'{request} passes, and {target} has not refreshed')

    def _query(self, statement: str, values: tuple[str, ...]) -> Any:
        return self._site.database.query(statement, values).fetchone()

    def _violate(self, text: str) -> None:
        self._checker.violate('trial', text)
