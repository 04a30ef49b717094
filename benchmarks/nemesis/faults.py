"""Faults of processes, networks and servers; reloads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.nemesis import members
from benchmarks.nemesis.cluster import HOSTS, Cluster
from benchmarks.nemesis.journal import LOSS
from benchmarks.nemesis.schedule import Kind, Planned
from benchmarks.nemesis.settings import SLOWER_HEARTBEAT
from benchmarks.nemesis.storm import Fault, Storm
from lab import process, proxy, server


@contextlib.contextmanager
def kill(storm: Storm, planned: Planned) -> Iterator[None]:
    """SIGKILL a process, and start it again later."""
    one = planned.choose(0, storm.running())
    with storm.taken(one.name), storm.noted('kill', one.name):
        one.kill()
        yield
        one.start()


@contextlib.contextmanager
def stop(storm: Storm, planned: Planned) -> Iterator[None]:
    """Stop a process with SIGTERM, and start it again later."""
    one = planned.choose(0, storm.running())
    with storm.taken(one.name), storm.noted('stop', one.name):
        one.stop()
        yield
        one.start()


@contextlib.contextmanager
def freeze(storm: Storm, planned: Planned) -> Iterator[None]:
    """Freeze a process with SIGSTOP, shorter or longer than its lease."""
    one = planned.choose(0, storm.running())
    with storm.taken(one.name), storm.noted('freeze', one.name):
        one.freeze()
        try:
            yield
        finally:
            one.thaw()


@contextlib.contextmanager
def cut(storm: Storm, planned: Planned) -> Iterator[None]:
    """Reset the connections of one path, and refuse new ones."""
    with _path(storm, planned, 'cut') as proxies:
        for one in proxies:
            one.cut()
        yield


@contextlib.contextmanager
def silence(storm: Storm, planned: Planned) -> Iterator[None]:
    """Swallow all data of one path."""
    with _path(storm, planned, 'silence') as proxies:
        for one in proxies:
            one.silence()
        yield


@contextlib.contextmanager
def slow(storm: Storm, planned: Planned) -> Iterator[None]:
    """Delay everything that a process sends to records or members."""
    with _path(storm, planned, 'slow') as proxies:
        for one in proxies:
            one.delay(0.05 + planned.draws[2] % 20 / 10)
        yield


@contextlib.contextmanager
def slow_ironic(storm: Storm, planned: Planned) -> Iterator[None]:
    """Let one service wait for Ironic, up to half a minute a request."""
    one = planned.choose(0, storm.running())
    target = f'{one.name}/ironic'
    with storm.taken(target), storm.noted('slow', target):
        for path in one.paths['ironic']:
            path.delay(1 + planned.draws[1] % 30)
        try:
            yield
        finally:
            for path in one.paths['ironic']:
                path.forward()


Part = Callable[[Cluster], Sequence[server.Server]]
"""Servers of one kind, of which one has a fault."""


def records(cluster: Cluster) -> Sequence[server.Server]:
    """Return servers of the records."""
    return cluster.records.targets()


def proxies(cluster: Cluster) -> Sequence[server.Server]:
    """Return the proxies in front of the records."""
    return cluster.records.proxies


def servers_of_members(cluster: Cluster) -> Sequence[server.Server]:
    """Return servers of the members."""
    return cluster.members.servers


def server_stop(part: Part) -> Fault:
    """Stop a server for a while."""
    return _on_server(part, 'server-stop', _stopped)


def server_kill(part: Part) -> Fault:
    """SIGKILL a server; start it again."""
    return _on_server(part, 'server-kill', _killed)


def server_freeze(part: Part) -> Fault:
    """Freeze a server; connections stay open."""
    return _on_server(part, 'server-freeze', _frozen)


@contextlib.contextmanager
def records_promote(storm: Storm, planned: Planned) -> Iterator[None]:
    """Lose the primary server of the records; its standby takes over."""
    servers = storm.cluster.records
    if not servers.can_fail_over:
        raise LookupError('no standby')
    kind = LOSS if servers.loses_commits else 'server-kill'
    with (
        storm.taken('records'),
        storm.noted(kind, 'records', 'standby promoted'),
        _losing_commits(storm),
    ):
        servers.lose_primary()
        yield
        servers.promote()


@contextlib.contextmanager
def records_rewind(storm: Storm, planned: Planned) -> Iterator[None]:
    """Promote a standby that lacks the commits of a while."""
    servers = storm.cluster.records
    if not servers.loses_commits:
        raise LookupError('no commit is lost')
    with (
        storm.taken('records'),
        storm.noted(LOSS, 'records', 'standby promoted that is behind'),
        _losing_commits(storm),
    ):
        servers.stop_replication()
        yield
        servers.lose_primary()
        servers.promote()


def _losing_commits(storm: Storm) -> contextlib.AbstractContextManager[None]:
    if storm.cluster.records.loses_commits:
        return storm.observer.losing_commits()
    return contextlib.nullcontext()


@contextlib.contextmanager
def clock_jump(storm: Storm, planned: Planned) -> Iterator[None]:
    """Set the wall clock of a process ahead or back, up to an hour."""
    able = [one for one in storm.running() if one.can_jump]
    one = planned.choose(0, able)
    seconds = (-1) ** planned.draws[1] * (1 + planned.draws[2] % 3600)
    with (
        storm.taken(f'{one.name}/clock'),
        storm.noted('clock-jump', one.name, f'{seconds} s'),
    ):
        one.clock.jump(seconds)
        try:
            yield
        finally:
            one.clock.jump(0)


@contextlib.contextmanager
def records_isolate(storm: Storm, planned: Planned) -> Iterator[None]:
    """Cut one server of the records off from the others."""
    with (
        storm.taken('records'),
        storm.noted('server-isolated', 'records'),
        storm.cluster.records.isolated(planned.draws[0]),
    ):
        yield


@contextlib.contextmanager
def members_isolate(storm: Storm, planned: Planned) -> Iterator[None]:
    """Cut one server of the members off, with one service if that can be."""
    store = storm.cluster.members
    if not isinstance(store, members.Cluster):
        raise LookupError('no cluster')
    with (
        storm.taken('members'),
        storm.noted('server-isolated', 'members'),
    ):
        clients = storm.cluster.processes.values()
        store.isolate(planned.draws[0], planned.choose(1, HOSTS), clients)
        try:
            yield
        finally:
            store.heal()


@contextlib.contextmanager
def reload_intervals(storm: Storm, planned: Planned) -> Iterator[None]:
    """Change the intervals of one process by SIGHUP."""
    settings = storm.cluster.settings
    faster = (
        settings.heartbeat_interval
        * (0.6, SLOWER_HEARTBEAT)[planned.draws[1] % 2]
    )
    changes: tuple[tuple[str, str, object], ...] = (
        ('membership', 'heartbeat_interval', max(0.5, faster)),
        ('ownership', 'refresh_interval', 1 + planned.draws[3] % 5),
    )
    group, name, value = planned.choose(2, changes)
    with _changed(storm, planned, {group: {name: value}}):
        yield


@contextlib.contextmanager
def reload_peers(storm: Storm, planned: Planned) -> Iterator[None]:
    """Take one service out of the peer list of one process by SIGHUP."""
    left = planned.choose(1, HOSTS)
    peers = ','.join(host for host in HOSTS if host != left)
    with _changed(storm, planned, {'ironic': {'peer_list': peers}}):
        yield


@contextlib.contextmanager
def _changed(
    storm: Storm,
    planned: Planned,
    options: Mapping[str, Mapping[str, object]],
) -> Iterator[None]:
    one = planned.choose(0, storm.running())
    with (
        storm.taken(f'{one.name}/options'),
        storm.noted('reload', one.name, str(dict(options))),
    ):
        life = one.life
        one.changed.update({k: dict(v) for k, v in options.items()})
        one.reload()
        yield
        if one.life == life:
            one.changed.clear()
            one.reload()


@contextlib.contextmanager
def _path(
    storm: Storm, planned: Planned, kind: str
) -> Iterator[list[proxy.Proxy]]:
    one = planned.choose(0, storm.running())
    paths = sorted(name for name, proxies in one.paths.items() if proxies)
    if kind == 'slow':
        paths.remove('ironic')  # which has a fault of its own
    path = planned.choose(1, paths)
    target = f'{one.name}/{path}'
    with storm.taken(target), storm.noted(kind, target):
        try:
            yield list(one.paths[path])
        finally:
            for each in one.paths[path]:
                each.forward()


def _on_server(
    part: Part,
    kind: str,
    fault: Callable[[server.Server], contextlib.AbstractContextManager[None]],
) -> Fault:
    """Return a fault of one server."""
    # Two faults of one store at once would be the loss of its majority.
    store = 'members' if part is servers_of_members else 'records'

    @contextlib.contextmanager
    def run(storm: Storm, planned: Planned) -> Iterator[None]:
        with storm.taken(store):
            target = planned.choose(0, part(storm.cluster))
            with storm.noted(kind, store, target.title), fault(target):
                yield

    return run


@contextlib.contextmanager
def _stopped(target: server.Server) -> Iterator[None]:
    target.stop()
    yield
    _start(target)


@contextlib.contextmanager
def _killed(target: server.Server) -> Iterator[None]:
    target.kill()
    yield
    _start(target)


@contextlib.contextmanager
def _frozen(target: server.Server) -> Iterator[None]:
    target.freeze()
    try:
        yield
    finally:
        target.thaw()


def _start(target: server.Server) -> None:
    # After a SIGKILL the children of a server may block its return.
    for attempt in range(5):
        try:
            target.start()
        except process.LabError:
            if attempt == 4:
                raise
        else:
            return


FAULTS: Mapping[Kind, Fault] = {
    Kind('kill', 3, 0.1, 15): kill,
    Kind('stop', 2, 0.1, 10): stop,
    Kind('freeze-short', 2, 0.5, 5): freeze,
    Kind('freeze-long', 3, 9, 20): freeze,
    Kind('cut', 3, 1, 20): cut,
    Kind('silence', 3, 1, 20): silence,
    Kind('slow', 2, 2, 20): slow,
    Kind('slow-ironic', 2, 5, 40): slow_ironic,
    Kind('records-stop', 1, 0.1, 8): server_stop(records),
    Kind('records-kill', 0.5, 0.1, 5): server_kill(records),
    Kind('records-freeze', 1, 1, 12): server_freeze(records),
    Kind('records-promote', 1, 0.1, 8): records_promote,
    Kind('records-rewind', 1, 0.5, 6): records_rewind,
    Kind('records-isolate', 1.5, 1, 12): records_isolate,
    Kind('proxy-kill', 0.5, 0.1, 5): server_kill(proxies),
    Kind('proxy-freeze', 0.5, 1, 12): server_freeze(proxies),
    Kind('members-stop', 1, 0.1, 8): server_stop(servers_of_members),
    Kind('members-kill', 0.5, 0.1, 5): server_kill(servers_of_members),
    Kind('members-freeze', 1, 1, 12): server_freeze(servers_of_members),
    Kind('members-isolate', 2, 1, 15): members_isolate,
    Kind('clock-jump', 1, 0.5, 15): clock_jump,
    Kind('reload-intervals', 2, 1, 20): reload_intervals,
    Kind('reload-peers', 2, 1, 20): reload_peers,
}
"""Each kind of fault, and what it does."""
