"""Commands of operators, and changes of the nodes in Ironic."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping

from benchmarks.nemesis import clock
from benchmarks.nemesis.cluster import HOSTS, STANDBYS
from benchmarks.nemesis.schedule import Kind, Planned
from benchmarks.nemesis.storm import Fault, Storm
from lab import process

_EXCEPTION = ('--override', 'destination_admits', '--reason', 'nemesis')
"""A service may own nodes that its policies do not admit."""

_FEWEST = 0.7
"""Share of the nodes at the start below which no further one is deleted."""


@contextlib.contextmanager
def force_down(storm: Storm, planned: Planned) -> Iterator[None]:
    """Force a live service down, and take it up again."""
    host = planned.choose(0, HOSTS)
    storm.cluster.ask_for(storm.owned(host)[:3])
    with _down(storm, host):
        yield


@contextlib.contextmanager
def move(storm: Storm, planned: Planned) -> Iterator[None]:
    """Force a service down, move some of its nodes, take it up again."""
    host = planned.choose(0, HOSTS)
    other = planned.choose(1, [h for h in HOSTS if h != host])
    nodes = storm.owned(host)[: 1 + planned.draws[2] % 6]
    if not nodes:
        raise LookupError('no node to move')
    storm.cluster.ask_for(nodes)
    with _down(storm, host):
        _move(storm, nodes, other)
        yield


@contextlib.contextmanager
def move_while_slow(storm: Storm, planned: Planned) -> Iterator[None]:
    """Move nodes of a service whose requests to Ironic take long."""
    host = planned.choose(0, HOSTS)
    other = planned.choose(1, [h for h in HOSTS if h != host])
    nodes = storm.owned(host)[:5]
    if not nodes:
        raise LookupError('no node to move')
    names = [n for n, p in storm.cluster.processes.items() if p.host == host]
    paths = [
        path
        for name in names
        for path in storm.cluster.processes[name].paths['ironic']
    ]
    storm.cluster.ask_for(nodes)
    time.sleep(3)  # until the drivers have read it
    with storm.taken(*(f'{name}/ironic' for name in names)):
        for path in paths:
            path.delay(planned.duration)
        try:
            with storm.noted('slow', f'{host}/ironic'):
                time.sleep(1)
                with _down(storm, host):
                    _move(storm, nodes, other)
                yield
        finally:
            for path in paths:
                path.forward()


def _move(storm: Storm, nodes: list[str], destination: str) -> None:
    storm.command(
        *('compute', 'node', 'move', *nodes, '--service', destination),
        *('--skip-invalid', '--yes'),
        *_EXCEPTION,
    )


@contextlib.contextmanager
def drain(storm: Storm, planned: Planned) -> Iterator[None]:
    """Force a service down, and drain it."""
    host = planned.choose(0, HOSTS)
    storm.cluster.ask_for(storm.owned(host)[:3])
    with _down(storm, host):
        storm.command('service', 'drain', host, '--skip-invalid', '--yes')
        yield


@contextlib.contextmanager
def disable(storm: Storm, planned: Planned) -> Iterator[None]:
    """Disable a service for a while."""
    host = planned.choose(0, HOSTS)
    with storm.taken(f'service {host}'), storm.noted('disabled', host):
        storm.command('service', 'set', host, '--disable', '--yes')
        try:
            yield
        finally:
            storm.command('service', 'set', host, '--enable', '--yes')


@contextlib.contextmanager
def fail_over(storm: Storm, planned: Planned) -> Iterator[None]:
    """Hand a service over to its standby."""
    host = planned.choose(0, STANDBYS)
    storm.cluster.ask_for(storm.owned(host)[:3])
    with storm.taken(f'service {host}'):
        storm.command('service', 'failover', host, '--yes')
        yield


@contextlib.contextmanager
def delete_service(storm: Storm, planned: Planned) -> Iterator[None]:
    """Try to delete a service; it is refused unless it has gone."""
    host = planned.choose(0, HOSTS)
    with storm.taken(f'service {host}'):
        storm.command('service', 'delete', host, '--yes')
        yield


@contextlib.contextmanager
def read(storm: Storm, planned: Planned) -> Iterator[None]:
    """Run one of the commands that only read."""
    nodes = sorted(storm.observer.latest.owners)
    node = planned.choose(0, nodes)
    commands = (
        ('check',),
        ('compute', 'node', 'list'),
        ('compute', 'node', 'explain', node),
        ('compute', 'node', 'check-delete', node),
        ('compute', 'node', 'check-action', node),
    )
    storm.command(*planned.choose(1, commands))
    yield


@contextlib.contextmanager
def create_node(storm: Storm, planned: Planned) -> Iterator[None]:
    """Add a node to Ironic."""
    cluster = storm.cluster
    new = cluster.scopes.enrol_one(cluster.enrolment, planned.draws[0])
    storm.journal.end(storm.journal.begin('node-created', new))
    storm.cluster.ask_for([new])
    yield


@contextlib.contextmanager
def delete_node(storm: Storm, planned: Planned) -> Iterator[None]:
    """Delete a free node from Ironic; sometimes its record as well."""
    if len(storm.cluster.uuids()) < _FEWEST * storm.cluster.settings.nodes:
        raise LookupError('few nodes are left')
    node = planned.choose(0, storm.cluster.free())
    with storm.taken(f'node {node}'):
        storm.deleted[node] = clock.now()
        entry = storm.journal.begin('node-deleted', node)
        try:
            storm.cluster.enrolment.delete(node)
        except process.LabError as exc:
            # A conductor may lock a node longer than requests are repeated.
            del storm.deleted[node]
            raise LookupError(str(exc)) from exc
        finally:
            storm.journal.end(entry)
        storm.cluster.ask_for([])
        if planned.draws[1] % 3 == 0:
            storm.command('compute', 'node', 'delete', node, '--yes')
        yield


@contextlib.contextmanager
def deploy_node(storm: Storm, planned: Planned) -> Iterator[None]:
    """Put an instance on a free node, or take one off."""
    free = storm.cluster.free()
    deployed = sorted(set(storm.cluster.uuids()).difference(free))
    takes = planned.draws[1] % 2 and deployed
    node = planned.choose(0, deployed if takes else free)
    instance = None if takes else str(uuid.UUID(int=planned.draws[2] << 64))
    with storm.taken(f'node {node}'):
        entry = storm.journal.begin('node-instance', node, str(instance))
        storm.cluster.enrolment.set_instance(node, instance)
        storm.journal.end(entry)
        storm.cluster.ask_for([node])
        yield


@contextlib.contextmanager
def rescope_node(storm: Storm, planned: Planned) -> Iterator[None]:
    """Give a node to the shard or the conductor group of some service."""
    cluster = storm.cluster
    node = planned.choose(0, cluster.uuids())
    with storm.taken(f'node {node}'):
        host = cluster.scopes.change(cluster.enrolment, node, planned.draws[1])
        storm.journal.end(storm.journal.begin('node-rescoped', node, host))
        cluster.ask_for([node])
        yield


@contextlib.contextmanager
def maintain_node(storm: Storm, planned: Planned) -> Iterator[None]:
    """Put a node into maintenance for a while."""
    node = planned.choose(0, storm.cluster.uuids())
    with storm.taken(f'node {node}'), storm.noted('maintenance', node):
        storm.cluster.enrolment.set_maintenance(node, True)
        yield
        storm.cluster.enrolment.set_maintenance(node, False)


@contextlib.contextmanager
def _down(storm: Storm, host: str) -> Iterator[None]:
    with storm.taken(f'service {host}'), storm.noted('forced-down', host):
        storm.command('service', 'set', host, '--down', '--yes')
        try:
            yield
        finally:
            storm.command('service', 'set', host, '--up', '--yes')


COMMANDS: Mapping[Kind, Fault] = {
    Kind('force-down', 2, 1, 15): force_down,
    Kind('move', 3, 0.1, 10): move,
    Kind('move-while-slow', 1, 5, 20): move_while_slow,
    Kind('drain', 1, 0.1, 10): drain,
    Kind('disable', 1, 1, 15): disable,
    Kind('fail-over', 2): fail_over,
    Kind('delete-service', 0.7): delete_service,
    Kind('read', 1.5): read,
    Kind('create-node', 1.5): create_node,
    Kind('delete-node', 1.5): delete_node,
    Kind('deploy-node', 3): deploy_node,
    Kind('rescope-node', 2): rescope_node,
    Kind('maintain-node', 0.5, 1, 10): maintain_node,
}
"""Each kind of command or change, and what it does."""
