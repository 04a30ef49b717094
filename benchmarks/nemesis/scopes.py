"""Policies by which the services of a run share the nodes, and their nodes.

On a ring all nodes are the same. Under an exclusive policy each service has a
shard or a conductor group of its own, named after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lab.enrolment import Enrolment

RING = 'peer_list'
SHARD = 'shard_key'
GROUP = 'conductor_group'
POLICIES = (RING, SHARD, GROUP)


class Scopes:
    """The scopes of the services of one run.

    :param policy: one of :data:`POLICIES`.
    :param hosts: names of the services.
    """

    def __init__(self, policy: str, hosts: Sequence[str]) -> None:
        self._policy = policy
        self._hosts = hosts
        self.is_exclusive = policy != RING

    def options(self, host: str) -> Mapping[str, object]:
        """Return the options of ``[ironic]`` of one service."""
        if self._policy == RING:
            return {'peer_list': ','.join(self._hosts)}
        return {self._policy: _name(host)}

    def enrol(
        self, enrolment: Enrolment, count: int, deployed: float
    ) -> list[str]:
        """Add nodes, the same number for each service.

        :param deployed: share of them with an instance.
        """
        if self._policy == RING:
            return enrolment.enrol(count, instance_share=deployed)
        each = max(1, count // len(self._hosts))
        uuids: list[str] = []
        for host in self._hosts:
            uuids += self._enrol(enrolment, each, host, deployed)
        return uuids

    def enrol_one(self, enrolment: Enrolment, number: int) -> str:
        """Add a free node for one of the services."""
        if self._policy == RING:
            return enrolment.enrol(1)[0]
        host = self._hosts[number % len(self._hosts)]
        return self._enrol(enrolment, 1, host, 0.0)[0]

    def change(self, enrolment: Enrolment, uuid: str, number: int) -> str:
        """Give a node to the scope of one of the services.

        :returns: the service.
        :raises LookupError: on a ring.
        """
        host = self._hosts[number % len(self._hosts)]
        if self._policy == SHARD:
            enrolment.set_shard(uuid, _name(host))
        elif self._policy == GROUP:
            enrolment.set_conductor_group(uuid, _name(host))
        else:
            raise LookupError('a ring has no scopes')
        return host

    def of_node(self, node: Mapping[str, Any]) -> str | None:
        """Return the service whose scope a node of Ironic's API is in."""
        found = {
            SHARD: node.get('shard'),
            GROUP: node.get('conductor_group'),
        }.get(self._policy)
        return next((h for h in self._hosts if _name(h) == found), None)

    def _enrol(
        self, enrolment: Enrolment, count: int, host: str, deployed: float
    ) -> list[str]:
        shard = _name(host) if self._policy == SHARD else None
        group = _name(host) if self._policy == GROUP else ''
        return enrolment.enrol(
            count,
            shard=shard,
            conductor_group=group,
            instance_share=deployed,
        )


def _name(host: str) -> str:
    return f'of-{host}'
