"""Laws of trials: some nodes move first; the others follow, or none does."""

from __future__ import annotations

from typing import Any

from tests.simulation.checks.law import Evidence, Law
from tests.simulation.checks.rows import Commit, Event


class Trials(Law):
    """Evaluates moves with a trial."""

    def __init__(self, seen: Evidence) -> None:
        super().__init__(seen)
        self._moved_at: dict[str, float] = {}
        self._targets: dict[str, str] = {}
        self._listed_at: dict[str, float] = {}
        self.follow = {'node_moved': self._node_moved}

    def listed(self, process: Any, method: str, scope: Any) -> None:
        """Note when a service asks Ironic for nodes."""
        self._listed_at[getattr(process, 'host', '')] = self.site.loop.now

    def restored(self) -> None:
        """Forget the moves: the records are those of an older copy."""
        self._moved_at.clear()
        self._targets.clear()

    def _node_moved(self, event: Event, commit: Commit) -> None:
        """Others follow when all have passed; of a failed trial none does."""
        request, node = str(event.request), str(event.node)
        nodes = commit.before.trials.get(request)
        if nodes is None:
            return
        part, _ = nodes.get(node, (None, ''))
        others = {part for part, _ in nodes.values() if part}
        if part in (None, 'passed') and others != {'passed'}:
            self.violate('trial', f'{node} follows, and its trial is {others}')
        if part == 'back':
            (source,) = self.seen.query(
                'SELECT source FROM node_moves '
                'WHERE request_id = ? AND node_uuid = ?',
                (request, node),
            ).fetchone()
            if event.target != source:
                self.violate(
                    'trial', f'{node} of {source} goes back {event.target}'
                )
        if part == 'first':
            self._moved_at[request] = self.site.loop.now
            self._targets[request] = str(event.target)

    def settled(self, commit: Commit) -> None:
        """One result counts; a trial passes after a refresh of its owner."""
        before = commit.before.trials
        for request, nodes in commit.now.trials.items():
            if nodes == before.get(request):
                continue
            parts = {part for part, _ in nodes.values() if part}
            if {'passed', 'back'} <= parts:
                self.violate('trial', f'{request} has passed and failed')
            old = before.get(request, {})
            for uuid, (part, state) in nodes.items():
                was, _ = old.get(uuid, (part, ''))
                if was != part and was != 'first':
                    self.violate(
                        'trial', f'{uuid} of {request}: {was}, then {part}'
                    )
                if was == 'first' and part == 'passed':
                    self._passed(request, uuid, state)

    def _passed(self, request: str, uuid: str, state: str) -> None:
        if state not in ('moved', 'unchanged'):
            self.violate('trial', f'{request} passes, and {uuid} is {state}')
        target = self._targets.get(request)
        # Without a node that moved there is nothing to wait for.
        moved_at = self._moved_at.get(request, float('inf'))
        jumped = self.site.database.jumped_at >= moved_at
        if target and not jumped and self._listed_at.get(target, 0) < moved_at:
            self.violate(
                'trial', f'{request} passes, and {target} has not refreshed'
            )
