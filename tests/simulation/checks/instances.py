"""Laws 2 and 7: a node with an instance stays, or moves together with it."""

from __future__ import annotations

import json
from typing import Any

from tests.simulation.checks.law import Evidence, Law
from tests.simulation.checks.rows import Commit, Event, Rows


class Instances(Law):
    """Evaluates what happens to nodes with an instance.

    :ivar released: the last owner of each node that has none.
    """

    def __init__(self, seen: Evidence) -> None:
        super().__init__(seen)
        self._looked_at: dict[str, float] = {}
        self.released: dict[str, str] = {}
        self.follow = {
            'owner_changed': self._owner_changed,
            'node_moved': self._node_moved,
            'node_handed_over': self._handed_over,
        }

    def listed(self, process: Any, method: str, scope: Any) -> None:
        """Note when a process has read which nodes have an instance."""
        # A take-over looks for itself, in a thread of its own.
        if (
            method == 'instances'
            and self.site.bare_metal.sees == 1
            and self.site.loop.current.name != 'take-over'
        ):
            self._looked_at[process.name] = self.site.loop.now

    def restored(self) -> None:
        """Take the former owners from the copy."""
        self.released = dict(
            self.seen.query(
                'SELECT uuid, released_by FROM compute_nodes '
                'WHERE released_by IS NOT NULL AND deleted_at IS NULL'
            )
        )

    def written(self, commit: Commit) -> None:
        """Evaluate the nodes with another owner, and all instances."""
        # The end of a reservation ends its instance.
        rows = commit.now if self.seen.reserves else commit.before
        for uuid, old, new in commit.changed:
            if not (old and commit.is_by_service):
                continue
            if uuid in commit.moved:
                self._check_order(uuid, old, commit.now)
                continue
            if uuid in rows.instances:
                self.violate('law 2', f'{uuid}: {old} to {new}, deployed')
            self._check_deployed(commit.process.name, uuid, old, new)
        now = commit.now
        for uuid, (instance, host) in now.instances.items():
            if now.owners.get(uuid) != host and not now.goes_back(uuid):
                self.violate(
                    'law 7',
                    f'instance {instance} belongs to {host}, its node to '
                    f'{now.owners.get(uuid)}',
                )

    def settled(self, commit: Commit) -> None:
        """Note who has released a node."""
        for uuid, old, new in commit.changed:
            if old:
                self.released[uuid] = old
            if new or uuid not in commit.now.owners:
                self.released.pop(uuid, None)

    def _check_deployed(
        self, process: str, uuid: str, old: str, new: str | None
    ) -> None:
        """Law 2, as Ironic knows it.

        Under a ring, a list of the instances has all nodes.
        """
        if self._is_seen_deployed(uuid):
            self.violate('law 2', f'{uuid}: {old} to {new}, seen deployed')
        deployed_at = self._deployed_at(uuid)
        if (
            new is None
            and self.seen.rebalances
            and self._looked_at.get(process, 0.0) > deployed_at
        ):
            self.violate('law 2', f'{old} releases {uuid}, seen deployed')

    def _is_seen_deployed(self, uuid: str) -> bool:
        """Tell whether every service has read that a node has an instance.

        What it has read is at most a refresh old, or as old as a process may
        stand still before it loses its right.
        """
        times = self.site.times
        since = self.site.loop.now - self._deployed_at(uuid)
        return since > max(times.refresh, times.ttl)

    def _deployed_at(self, uuid: str) -> float:
        """Return since when Ironic has an instance on a node."""
        bare_metal = self.site.bare_metal
        found = bare_metal.nodes.get(uuid)
        if found is None or found.instance_uuid is None:
            return float('inf')
        return bare_metal.deployed_at.get(uuid, 0.0)

    def _check_order(self, uuid: str, old: str, now: Rows) -> None:
        """Law 2: a service moves a node only by an order that is due."""
        order, epoch, since = self.seen.query(
            'SELECT standing_order, fence_epoch, fence_seen_at '
            'FROM services WHERE host = ?',
            (old,),
        ).fetchone()
        row = now.services[old]
        if not (order and row.fenced and row.epoch == epoch):
            self.violate('law 2', f'{uuid} of {old} is moved without an order')
        elif not self.seen.has_jumped:
            clock = self.site.database.clock()
            left = since + json.loads(order)['after'] - clock
            if left > 0:
                self.violate('law 2', f'{uuid} is moved {left:.1f} s early')

    def _owner_changed(self, event: Event, commit: Commit) -> None:
        """No service claims what only another one can have deployed."""
        if event.source is not None or event.actor == 'operator':
            return
        node, gains, now = str(event.node), event.target, commit.now
        instance, host = commit.before.instances.get(node, ('', gains))
        if host != gains:
            self.violate(
                'law 2', f'{gains} claims {node}, {instance} of {host}'
            )
        former = self.released.get(node, gains)
        if (
            self.seen.rebalances
            and former != gains
            and former in now.services
            and (node in now.instances or self._is_seen_deployed(node))
        ):
            self.violate('law 2', f'{gains} adopts {node} of {former}')

    def _node_moved(self, event: Event, commit: Commit) -> None:
        node = str(event.node)
        if commit.before.owners.get(node) != event.source:
            self.violate('law 7', f'{node} was not of {event.source}')

    def _handed_over(self, event: Event, commit: Commit) -> None:
        node = str(event.node)
        if node in commit.before.instances and not commit.now.goes_back(node):
            self.violate('law 2', f'{node} is released, deployed')
