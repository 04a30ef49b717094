"""State of the deployment after the faults: all that has to be true then."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from tooz import hashring

from benchmarks.nemesis import clock
from benchmarks.nemesis.answers import ProcessState, Reader
from benchmarks.nemesis.cluster import HOSTS, Cluster
from benchmarks.nemesis.hosts import LIVING, HostProcess
from benchmarks.nemesis.observer import Observer, Snapshot

_MICROVERSION = {'X-OpenStack-Ironic-API-Version': '1.82'}
_PARTITIONS = 2**5
_FRESH = 15.0
"""Seconds after which a list of threads is too old."""


class Convergence:
    """Compares records, Ironic and processes with what has to be."""

    def __init__(
        self, cluster: Cluster, observer: Observer, reader: Reader
    ) -> None:
        self._cluster = cluster
        self._observer = observer
        self._reader = reader

    def problems(self) -> list[str]:
        """Return what is not yet as it has to be."""
        nodes = self._nodes()
        snapshot = self._observer.read()
        return [
            *self._processes(),
            *self._services(snapshot),
            *self._ownership(nodes, snapshot),
        ]

    def _nodes(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the nodes by uuid, as Ironic's API has them."""
        request = urllib.request.Request(
            f'{self._cluster.ironic.endpoint}/v1/nodes'
            '?fields=uuid,instance_uuid,shard,conductor_group&limit=1000',
            headers=_MICROVERSION,
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            nodes = json.load(answer)['nodes']
        return {node['uuid']: node for node in nodes}

    def _processes(self) -> list[str]:
        found = []
        for one in self._cluster.processes.values():
            state = self._state(one)
            if not one.is_running:
                found.append(f'process {one.name} has ended')
            elif state is None or clock.now() - state.at > _FRESH:
                found.append(f'process {one.name} does not answer')
            elif missing := LIVING - state.threads:
                names = ', '.join(sorted(missing))
                found.append(f'process {one.name} has no thread {names}')
        return found

    def _state(self, process: HostProcess) -> ProcessState | None:
        """Return what the present life of a process said last, if anything."""
        return self._reader.states.get(process.login)

    def _is_lasting(self, state: ProcessState) -> bool:
        """Tell whether a process has had a heartbeat lately.

        One whose membership has expired in the faults still is on record as
        before, until it registers again.
        """
        left = state.right - (clock.now() - state.at)
        return left > self._cluster.settings.ttl / 4

    def _services(self, snapshot: Snapshot) -> list[str]:
        found = []
        states = map(self._state, self._cluster.processes.values())
        living = {one.incarnation: one for one in states if one is not None}
        for host in HOSTS:
            row = snapshot.services.get(host)
            if row is None or row.fenced or row.forced_down or row.disabled:
                found.append(f'service {host} may not act: {row}')
            elif row.incarnation not in living:
                # Its successor waits until this membership has expired.
                found.append(f'service {host} has ended, on record is {row}')
            elif not self._is_lasting(living[row.incarnation]):
                found.append(f'service {host} has no lasting right: {row}')
        return found

    def _ownership(
        self, nodes: Mapping[str, Mapping[str, Any]], snapshot: Snapshot
    ) -> list[str]:
        found = []
        ring = hashring.HashRing(HOSTS, partitions=_PARTITIONS)
        for uuid, node in nodes.items():
            instance = node['instance_uuid']
            owner = snapshot.owners.get(uuid)
            if instance is not None or self._cluster.scopes.is_exclusive:
                expected = self._keepers(node)
            else:
                expected = sorted(ring.get_nodes(uuid.encode('utf-8')))
            if owner not in expected:
                found.append(f'node {uuid} belongs to {owner}: {expected}')
            kept = snapshot.instances.get(uuid, (None, None))
            if kept != (instance, owner if instance else None):
                found.append(f'node {uuid} has {instance}, on record {kept}')
        for uuid in snapshot.owners.keys() - nodes.keys():
            found.append(
                f'node {uuid} has a record of {snapshot.owners[uuid]}, and '
                'does not exist'
            )
        return found

    def _keepers(self, node: Mapping[str, Any]) -> Sequence[str | None]:
        """Return who may have a node that no ring gives to another service.

        Its record keeps it with any service, until an operator moves it.
        """
        scopes = self._cluster.scopes
        if scopes.is_exclusive and scopes.of_node(node) is None:
            return (*HOSTS, None)
        return HOSTS


def changes(before: Snapshot, after: Snapshot) -> Sequence[str]:
    """Return what changed although nothing happened."""
    found = [
        f'node {uuid}: {owner} became {after.owners.get(uuid)}'
        for uuid, owner in before.owners.items()
        if after.owners.get(uuid) != owner
    ]
    for host, row in before.services.items():
        now = after.services.get(host)
        if now is None or now.epoch != row.epoch:
            found.append(f'service {host}: {row} became {now}')
    return found
