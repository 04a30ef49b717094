"""Liveness: what has to be well some time after the last fault."""

from __future__ import annotations

from collections.abc import Sequence

from tooz import hashring

from ironic_ownership.contracts import model
from tests.simulation.checks.checker import Checker
from tests.simulation.deployment import Site
from tests.simulation.plan import Plan


class Liveness:
    """Evaluates a deployment after the last fault."""

    def __init__(self, plan: Plan, site: Site, checker: Checker) -> None:
        self._plan, self._site, self._checker = plan, site, checker

    def missing(self) -> list[str]:
        """Return what is not as it should be."""
        return [
            *self._not_serving(),
            *(
                f'{host} has other settings on record'
                for host in self._outdated()
                if host != self._plan.absent
            ),
            *self._strays(),
            *self._unfinished(),
        ]

    def _not_serving(self) -> list[str]:
        """Return the threads, processes and services that do not work."""
        site, rows = self._site, self._checker.rows
        found = [
            f'{task.process.name}: thread {task.name} ended: {error!r}'
            for task, error in self._site.loop.errors
            if not task.process.is_dead
        ]
        for name, one in site.machines.items():
            if one.host == self._plan.absent:
                if not one.main.ended:
                    found.append(f'{name} has not ended')
                continue
            if one.built is None or one.main.ended:
                found.append(f'{name} has ended')
                continue
            found += [
                f'{name}: {loop} has ended'
                for loop in one.built.scheduler.dead
            ]
        for host in self._serving:
            row = rows.services.get(host)
            active = [
                one
                for one in site.machines.values()
                if one.host == host
                and row is not None
                and one.incarnation == row.incarnation
                and one.may_act
            ]
            if not active or row is None or row.fenced:
                found.append(f'no process of {host} may act')
        return found

    @property
    def _serving(self) -> list[str]:
        return [host for host in self._plan.hosts if host != self._plan.absent]

    def _outdated(self) -> list[str]:
        """Return the services whose row differs from their configuration."""
        stored = self._site.database.query(
            'SELECT host, settings FROM services'
        )
        return [
            host
            for host, settings in sorted(stored)
            if settings != self._site.tuning(host).advertised.to_json()
        ]

    def _unfinished(self) -> list[str]:
        """Return trials, and reservations unlike what Ironic holds.

        Those of a service that does not return wait for it, or an operator.
        """
        site, absent = self._site, self._plan.absent
        opened = site.database.query(
            'SELECT instance_uuid, node_uuid, state, host FROM reservations '
            "WHERE state <> 'closed'"
        ).fetchall()
        # Ironic keeps the name of the first service when a node has moved.
        hosts = {instance: host for instance, *_, host in opened}
        held = {
            (one.instance_uuid, one.node_uuid, 'active')
            for host in site.policies
            for one in site.allocations.mine(host)
            if hosts.get(one.instance_uuid, host) != absent
        }
        settled = {tuple(rest) for *rest, host in opened if host != absent}
        return [
            *(
                f'the trial of {request_id} has no result'
                for request_id in self._checker.rows.unfinished_trials()
            ),
            *(
                f'on record or in Ironic only: {one}'
                for one in sorted(settled ^ held, key=str)
            ),
        ]

    def _strays(self) -> list[str]:
        """Return the nodes whose record is not as it should be."""
        site, rows, found = self._site, self._checker.rows, []
        for uuid, one in sorted(site.bare_metal.nodes.items()):
            owner = rows.owners.get(uuid)
            wanted = self._owners(one, owner)
            if owner not in wanted:
                found.append(
                    f'node {uuid[-4:]} belongs to {owner}, not {wanted}'
                )
            instance = rows.instances.get(uuid, (None, None))[0]
            if (
                owner not in (None, self._plan.absent)
                and instance != one.instance_uuid
            ):
                found.append(f'node {uuid[-4:]} has {instance} on record')
        gone = rows.owners.keys() - site.bare_metal.nodes.keys()
        if len(gone) > 3:
            gone = set()  # a mass loss, which waits for an operator
        found += [
            f'node {uuid[-4:]} is gone, and has a record'
            for uuid in sorted(gone)
            if uuid not in rows.instances
            and rows.owners[uuid] != self._plan.absent
        ]
        return found

    def _owners(
        self, node: model.Node, owner: str | None
    ) -> Sequence[str | None]:
        """Return who may own a node in the end."""
        hosts = self._plan.hosts
        deployed = (
            node.instance_uuid or node.uuid in self._checker.rows.instances
        )
        if deployed and owner is not None:
            return hosts
        if (
            deployed
            and self._plan.absent
            == self._checker.instances.released.get(node.uuid)
        ):
            # No other may adopt it: it waits for an operator.
            return [None]
        if self._plan.policy == 'ring':
            ring = hashring.HashRing(self._serving, hash_function='md5')
            (found,) = ring.get_nodes(node.uuid.encode())
            if owner == self._plan.absent and owner in self._outdated():
                # Others are no peers of it: its nodes wait for an operator.
                return [owner, found]
            return [found]
        if self._plan.policy == 'pool':
            # A node is owned with an instance only, and what its service did
            # not release before it stopped for good waits for an operator.
            if node.instance_uuid:
                return [*hosts, None]
            return [None, *({self._plan.absent} & {owner})]
        # An owner under an exclusive policy keeps the node.
        if owner is not None:
            return hosts
        if self._plan.policy == 'all':
            return self._serving
        shards = dict(zip('abcd', hosts, strict=False))
        wanted = shards.get(str(node.shard))
        return [None if wanted == self._plan.absent else wanted]
