"""Reference of the rules of ownership: slow, node by node.

Written from the rules and not from the code, to test the code against. It
shares no function with the package: rings come from tooz, scopes are
compared here, and settings are read as plain data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tooz import hashring

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reasons import Contest, Decision, Reason

ASSIGNERS = {'peer_list', 'odd', 'reservation'}
KNOWN = {'all', 'conductor_group', 'shard_key', 'picky', *ASSIGNERS}


class Service:
    """A service by its settings alone."""

    def __init__(self, host: str, settings: model.MemberSettings) -> None:
        self.host = host
        self.settings = settings
        self.names = [p.name for p in settings.policies]
        self.options: dict[str, Any] = {}
        for policy in settings.policies:
            self.options.update(dict(policy.options))
        self.readable = (
            settings.contract_version == 1 and set(self.names) <= KNOWN
        )

    def admits(self, node: model.Node) -> bool:
        wanted = self.options
        return not (
            ('shard_key' in wanted and wanted['shard_key'] != node.shard)
            or (
                'conductor_group' in wanted
                and wanted['conductor_group'] != node.conductor_group
            )
            or ('driver' in wanted and wanted['driver'] != node.driver)
        )

    @property
    def assigner(self) -> str | None:
        return next((n for n in self.names if n in ASSIGNERS), None)

    @property
    def rebalances(self) -> bool:
        return self.readable and self.assigner == 'peer_list'

    def peers(self, known: Iterable[Service]) -> frozenset[str]:
        alike = {s.host for s in known if s.settings == self.settings}
        if self.assigner is None:
            return frozenset((self.host,))
        if self.assigner in ('odd', 'reservation'):
            return frozenset(alike)
        if 'shard_key' in self.options:
            return frozenset((self.host,))
        named = self.options['peer_list']
        return frozenset(named or alike) | {self.host}


class Moment:
    """The services of one moment, evaluated for one node at a time."""

    def __init__(
        self,
        members: Iterable[model.Member],
        rows: Mapping[str, model.Service],
    ) -> None:
        alive = {m.host: m for m in members}
        self.joined = {m.host: m.joined_at for m in alive.values()}
        self.known = {
            host: Service(
                host,
                alive[host].settings if host in alive else rows[host].settings,
            )
            for host in alive.keys() | rows.keys()
        }
        self.able = [
            service
            for host, service in self.known.items()
            if host in alive
            and service.readable
            and not (
                host in rows
                and (rows[host].disabled or rows[host].forced_down)
            )
        ]

    def peers(self, service: Service) -> frozenset[str]:
        return service.peers(self.known.values())

    def circle(self, service: Service) -> list[str]:
        """Return the able services with the same settings and peers."""
        return sorted(
            other.host
            for other in self.able
            if other.settings == service.settings
            and self.peers(other) == self.peers(service)
        )

    def wish(self, node: model.Node) -> Decision:
        """Return the decision of the policies, regardless of the record."""
        admitting = [s for s in self.able if s.admits(node)]
        circles = {tuple(self.circle(s)) for s in admitting}
        if not circles:
            return Decision(None, Reason.NOT_ADMITTED)
        if len(circles) == 1:
            return self._of_one_circle(admitting[0], node)
        contenders = tuple(sorted(s.host for s in admitting))
        alike = len({tuple(s.names) for s in admitting}) == 1
        if alike and all(len(self.peers(s)) == 1 for s in admitting):
            first = min(admitting, key=lambda s: (self.joined[s.host], s.host))
            return Decision(
                first.host, Reason.CONFLICT_FIRST, contenders, Contest.CONFLICT
            )
        return Decision(
            None, Reason.CONTESTED_UNOWNED, contenders, Contest.CONTESTED
        )

    def _of_one_circle(self, service: Service, node: model.Node) -> Decision:
        hosts = self.circle(service)
        if service.assigner is None:
            return Decision(hosts[0], Reason.EXCLUSIVE)
        if service.assigner == 'odd':
            owner = hosts[-1] if int(node.uuid[-1], 16) % 2 else None
        elif service.assigner == 'reservation':
            owner = None
        else:
            ring = hashring.HashRing(hosts, hash_function='md5')
            (owner,) = ring.get_nodes(node.uuid.encode())
        return Decision(owner, Reason.ASSIGNED if owner else Reason.UNASSIGNED)

    def decide(
        self, node: model.Node, record: model.ComputeNode | None
    ) -> Decision:
        """Return the decision about one node."""
        wish = self.wish(node)
        owner = record.host if record else None
        deployed = node.instance_uuid is not None or (
            record is not None and record.instance_uuid is not None
        )
        if owner is None:
            former = (
                self.known.get(record.released_by or '') if record else None
            )
            back = former and (not former.readable or former.admits(node))
            if deployed and wish.owner and former and back:
                return Decision(
                    former.host if former in self.able else None,
                    Reason.RETURNED,
                    wish.contenders,
                    wish.contest,
                    wanted_by=wish.owner,
                )
            if deployed and wish.owner:
                return Decision(
                    wish.owner, Reason.ADOPTED, wish.contenders, wish.contest
                )
            return wish
        if wish.owner == owner:
            return wish
        if not deployed and not wish.contest and self.may_move(owner, wish):
            return wish
        if deployed:
            reason = Reason.INSTANCE_STAYS
        elif wish.contest is Contest.CONTESTED:
            reason = Reason.CONTESTED_KEEPS
        elif wish.reason is Reason.NOT_ADMITTED:
            reason = Reason.FILTERED_KEEPS
        else:
            reason = Reason.RECORD_KEEPS
        service = self.known.get(owner)
        return Decision(
            owner,
            reason,
            wish.contenders,
            wish.contest,
            filtered=service is not None
            and service.readable
            and not service.admits(node),
            wanted_by=wish.owner,
        )

    def may_move(self, owner: str, wish: Decision) -> bool:
        """Both sides rebalance, and the taker has more than one peer.

        Or it becomes unowned, from a service that has nodes on demand only.
        """
        if wish.owner is None:
            return self._shares(owner) or (
                wish.reason is Reason.UNASSIGNED and self._reserves(owner)
            )
        if not self._shares(wish.owner):
            return False
        service = self.known.get(owner)
        return owner in self.peers(self.known[wish.owner]) or (
            service is not None and service.rebalances
        )

    def _shares(self, host: str) -> bool:
        service = next((s for s in self.able if s.host == host), None)
        return (
            service is not None
            and service.rebalances
            and len(self.peers(service)) > 1
        )

    def _reserves(self, host: str) -> bool:
        service = self.known.get(host)
        return (
            service is not None
            and service.readable
            and service.assigner == 'reservation'
        )
