"""Laws 3 to 6 and 13: when an owner may change, and which nodes are read."""

from __future__ import annotations

from typing import Any

from tests.simulation.checks.law import Evidence, Law
from tests.simulation.checks.rows import Commit, Event, Rows


class Owners(Law):
    """Evaluates each change of owner, and the lists that lead to them."""

    def __init__(self, seen: Evidence) -> None:
        super().__init__(seen)
        self._away: dict[str, tuple[int, float]] = {}
        self.follow = {
            'node_forgotten': self._forgotten,
            'service_retired': self._retired,
        }

    def listed(self, process: Any, method: str, scope: Any) -> None:
        """Law 4: with a shard key, all nodes are never listed."""
        if (
            self.seen.runs('shard_key')
            and hasattr(process, 'host')
            and not (scope.shard or scope.nothing)
        ):
            self.violate('law 4', f'{process.name}: {method} of all nodes')

    def restored(self) -> None:
        """Forget which services are expected back."""
        self._away.clear()

    def written(self, commit: Commit) -> None:
        """Laws 5, 6 and 13, and the grace of a service that was stopped."""
        named = {event.node for event in commit.events}
        for uuid, old, new in commit.changed:
            if uuid not in named:
                self.violate('law 6', f'{uuid}: {old} to {new}, no event')
            if not (old and commit.is_by_service):
                continue
            self._check_paused(uuid, old, commit.now)
            self._check_grace(uuid, old, commit.now)
            is_order = uuid in commit.moved
            if new and not (is_order or self.seen.rebalances):
                self.violate('law 5', f'{uuid}: {old} to {new}')
        self._check_holds(commit)

    def _check_paused(self, uuid: str, old: str, now: Rows) -> None:
        """Law 13: no owner changes automatically under a pause."""
        database = self.site.database
        if uuid not in now.owners or self.seen.has_jumped:
            return
        (shard,) = self.seen.query(
            'SELECT shard FROM compute_nodes WHERE uuid = ?', (uuid,)
        ).fetchone()
        for paused, ends_at in now.pauses:
            if paused in (None, shard) and ends_at > database.clock():
                new = now.owners[uuid]
                self.violate('law 13', f'{uuid}: {old} to {new}, paused')

    def _check_grace(self, uuid: str, old: str, now: Rows) -> None:
        """No node leaves a service while it is expected back."""
        epoch, until = self._away.get(old, (0, 0.0))
        row = now.services.get(old)
        if (
            row is not None
            and row.epoch == epoch
            and not row.forced_down
            and not self.seen.has_jumped
            and (left := until - self.site.database.clock()) > 0
        ):
            self.violate(
                'grace',
                f'{uuid}: {old} to {now.owners.get(uuid)}, {left:.1f} s early',
            )

    def _check_holds(self, commit: Commit) -> None:
        """Law 1: only its request gives a released node to a service."""
        moved = {
            (e.node, e.request)
            for e in commit.events
            if e.kind == 'node_moved'
        }
        for uuid, (request, until) in commit.before.holds.items():
            if (
                # A client's deletion of a reservation holds it for its owner.
                commit.now.owners.get(uuid) not in (None, request)
                and (uuid, request) not in moved
                and until > self.site.database.clock()
                and not self.seen.has_jumped
            ):
                self.violate(
                    'law 1', f'{uuid} is held by {request}, and claimed'
                )

    def _retired(self, event: Event, commit: Commit) -> None:
        host = str(event.source)
        until = self.site.database.clock() + self.site.times.grace
        self._away[host] = commit.now.services[host].epoch, until

    def _forgotten(self, event: Event, commit: Commit) -> None:
        """Law 3: only its owner deletes the record of a node that is gone."""
        node = str(event.node)
        if node in self.site.bare_metal.nodes:
            self.violate('law 3', f'{node} is deleted, and Ironic has it')
        if commit.before.owners.get(node) != event.source:
            self.violate('law 3', f'{node} was not of {event.source}')
