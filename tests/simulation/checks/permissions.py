"""Laws 1 and 12: acts under a permission, and requests that Ironic admits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.simulation.checks.law import SLACK, Evidence, Law
from tests.simulation.checks.rows import Commit

if TYPE_CHECKING:
    from tests.simulation.deployment import ServiceProcess


class Permissions(Law):
    """Evaluates what is done about a node.

    :ivar acts: how many acts it has seen.
    """

    def __init__(self, seen: Evidence) -> None:
        super().__init__(seen)
        self.acts = 0
        self._ended: dict[tuple[str, str], float] = {}
        self._forced: dict[str, float] = {}

    def settled(self, commit: Commit) -> None:
        """Note since when each right is over."""
        at = self.site.loop.now
        for host, old in commit.before.services.items():
            row = commit.now.services.get(host)
            if row is None or row.epoch != old.epoch or not row.has_right:
                self._ended.setdefault((host, str(old.epoch)), at)
                if not commit.is_by_service:
                    self._forced[host] = at
        for uuid, owner, _ in commit.changed:
            if owner:
                self._ended[(owner, uuid)] = at

    def act(self, process: ServiceProcess, permission: Any) -> None:
        """Evaluate an act under a permission that seems valid."""
        self.acts += 1
        limit = self.site.times.heartbeat * SLACK
        right = process.host, permission._uuid, permission.epoch
        for what in self._over(*right, self.site.loop.now - limit):
            self.violate('law 1 (guard)', f'{process.name} acts on {what}')
        for host in sorted(self.site.policies.keys() - {process.host}):
            for other in self.seen.processes(host):
                if other.may_act_on(permission._uuid):
                    self._check_excuse(process, other, permission._uuid)

    def _check_excuse(
        self, one: ServiceProcess, other: ServiceProcess, uuid: str
    ) -> None:
        """Two services may act on a node for a moment if one was forced.

        By an operator, who has to wait; by records or members that were lost,
        or by a clock that was set.
        """
        site, times = self.site, self.site.times
        by = max(self._forced.get(p.host, -1e9) for p in (one, other))
        lost = max(
            self.seen.restored_at,
            self.seen.emptied_at,
            site.database.jumped_at,
        )
        if (
            site.loop.now - by > times.heartbeat * SLACK
            and site.loop.now - lost > 2 * times.ttl
        ):
            self.violate(
                'law 1 (two)',
                f'{one.name} and {other.name} may act on {uuid}',
            )

    def admitted(
        self, host: str, uuid: str, epoch: int, arrived: float
    ) -> None:
        """Ironic admits no request under an ended epoch.

        :param arrived: when the request did, at Ironic.
        """
        for what in self._over(host, uuid, epoch, arrived):
            self.violate('law 12', f'a request is admitted: {what}')

    def _over(
        self, host: str, uuid: str, epoch: int, since: float
    ) -> Iterator[str]:
        """Return each right to a node that was over before some time."""
        rows, restored_at = self.seen.rows, self.seen.restored_at
        if since <= restored_at:
            return
        row = rows.services.get(host)
        ends = []
        if rows.owners.get(uuid) != host:
            ends.append(('does not own', self._ended.get((host, uuid), 0.0)))
        if row is None or not row.has_right or row.epoch != epoch:
            ended = self._ended.get((host, str(epoch)), restored_at)
            ends.append(('has no right to', ended))
        for what, ended in ends:
            if max(ended, restored_at) < since:
                seconds = self.site.loop.now - ended
                yield f'{uuid}, which {host} {what} for {seconds:.2f} s'
