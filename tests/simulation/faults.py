"""Faults, changes of Ironic, and commands of operators, by their kinds.

Each function begins one, and returns what ends it. All choose by the seed, and
raise ``LookupError`` where there is no target now.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

from tests.simulation.deployment import Command, ServiceProcess, Site
from tests.simulation.links import Link, Server
from tests.unit.engine import world

Undo = Callable[[], None]
Begin = Callable[[Site], Undo]

FAULTS: dict[str, Begin] = {}
CHANGES: dict[str, Begin] = {}
COMMANDS: dict[str, Begin] = {}

_STANDING = ('compute_node:release', 'move:create')
"""Commands that stand still at the calls that their line of a story names."""


def _of(table: dict[str, Begin]) -> Callable[[Begin], Begin]:
    def add(begin: Begin) -> Begin:
        table[begin.__name__.strip('_').replace('_', '-')] = begin
        return begin

    return add


def nothing() -> None:
    """Undo nothing."""


def machine(site: Site) -> ServiceProcess:
    """Choose a process that runs."""
    return site.machines[_chosen(site, sorted(site.machines))]


def host(site: Site) -> str:
    """Choose a service."""
    return _chosen(site, sorted(site.policies))


def _chosen(site: Site, among: list[str]) -> str:
    """Return what a story names, or what the seed chooses."""
    found = [one for one in site.named if one in among]
    return found[0] if found else site.loop.rng.choice(among)


def node(site: Site, *, deployed: bool | None = None) -> str:
    """Choose a node."""
    return _chosen(
        site,
        sorted(
            one.uuid
            for one in site.bare_metal.nodes.values()
            if deployed in (None, one.instance_uuid is not None)
        ),
    )


def at_a_step(
    process: ServiceProcess | Command, do: Callable[[], None]
) -> None:
    """Do something while the process works, at any of its next steps.

    At some call of those that were made so far: most steps are of heartbeats.
    """
    site, rng = process.site, process.loop.rng
    calls = sorted({name for one in site.servers for name in one.steps})
    if named := _named_calls(site):
        process.before_call(named, 0, do)
    elif calls and not site.named and rng.random() < 0.5:
        process.before_call([rng.choice(calls)], rng.randint(0, 3), do)
    else:
        process.after_steps(rng.randint(1, 40), do)


def _named_calls(site: Site) -> list[str]:
    """Return the calls that a story names, whether they were made or not."""
    others = {*site.hosts, *_paths(site), 'all'}
    return [name for name in site.named if name not in others]


def _paths(site: Site) -> dict[str, Server]:
    """Return the server at the end of each path."""
    return {
        'records': site.database,
        'members': site.database if site.in_database else site.members,
        'ironic': site.ironic,
    }


def _restart(site: Site, name: str) -> None:
    if name not in site.machines:
        site.start(name)


@_of(FAULTS)
def kill(site: Site) -> Undo:
    one = machine(site)

    def now() -> None:
        if site.machines.get(one.name) is one:
            site.checker.tell(f'{one.name} dies at {one.last_step}')
            site.note('kill', one.last_step)
            site.kill(one.name)

    def undo() -> None:
        now()
        _restart(site, one.name)

    at_a_step(one, now)
    return undo


@_of(FAULTS)
def restart_at_once(site: Site) -> Undo:
    """Let a process die, and start the next one in the same moment."""
    one = machine(site)

    def now() -> None:
        if site.machines.get(one.name) is one:
            site.checker.tell(f'{one.name} dies, and starts again')
            site.note('restart', one.last_step)
            site.kill(one.name)
            site.start(one.name)

    at_a_step(one, now)
    return nothing


@_of(FAULTS)
def stop(site: Site) -> Undo:
    one = machine(site)
    site.checker.tell(f'{one.name} is stopped')
    one.stop()

    def undo() -> None:
        if site.machines.get(one.name) is one:
            site.kill(one.name)
        _restart(site, one.name)

    return undo


def _freeze(site: Site, shortest: float, longest: float) -> Undo:
    one, rng = machine(site), site.loop.rng
    seconds = site.lasts or rng.uniform(shortest, longest) * site.times.ttl

    def now() -> None:
        site.checker.tell(
            f'{one.name} stands still for {seconds:.1f} s at {one.last_step}'
        )
        site.note('freeze', one.last_step)
        one.frozen_until = site.loop.now + seconds

    at_a_step(one, now)
    return nothing


@_of(FAULTS)
def freeze_short(site: Site) -> Undo:
    return _freeze(site, 0.01, 0.9)


@_of(FAULTS)
def freeze_long(site: Site) -> Undo:
    return _freeze(site, 0.95, 3)


def _path(site: Site, **values: object) -> Undo:
    one, rng = machine(site), site.loop.rng
    servers = _paths(site)
    paths = [path for path in site.named if path in servers] or rng.sample(
        sorted(servers), rng.choice((1, 1, 2, 3))
    )
    ended: list[bool] = []

    def begin() -> None:
        for path in paths if not ended else ():
            link = Link(**values)  # type: ignore[arg-type]
            servers[path].links[one.name, path] = link
            site.note(next(iter(values)), path)
            site.checker.tell(f'{one.name} to {path}: {values}')

    if _named_calls(site):
        at_a_step(one, begin)
    else:
        begin()

    def undo() -> None:
        ended.append(True)
        for path in paths:
            servers[path].links[one.name, path] = Link()
        site.checker.tell(f'{one.name} reaches {", ".join(paths)} again')

    return undo


@_of(FAULTS)
def cut(site: Site) -> Undo:
    return _path(site, is_cut=True)


@_of(FAULTS)
def silence(site: Site) -> Undo:
    return _path(site, is_silent=True)


@_of(FAULTS)
def slow(site: Site) -> Undo:
    most = site.loop.rng.choice((0.1, 0.5, 1.5)) * site.times.heartbeat
    return _path(site, latency=most)


@_of(FAULTS)
def lossy(site: Site) -> Undo:
    return _path(site, loses=site.loop.rng.choice((0.1, 0.4)))


@_of(FAULTS)
def flaky(site: Site) -> Undo:
    rng = site.loop.rng
    most = rng.choice((0.5, 1.5)) * site.times.heartbeat
    return _path(site, latency=most, loses=rng.choice((0.1, 0.4)))


def _server(site: Site, state: str) -> Undo:
    servers = _paths(site)
    if site.in_database:
        del servers['members']
    name = _chosen(site, sorted(servers))
    server = servers[name]
    site.checker.tell(f'{name}: {state}')
    site.note(state, name)
    setattr(server, state, True)
    if name == 'records' and state == 'is_down':
        site.database.abort_all()

    def undo() -> None:
        setattr(server, state, False)
        site.checker.tell(f'{name}: no longer {state}')

    return undo


@_of(FAULTS)
def server_down(site: Site) -> Undo:
    return _server(site, 'is_down')


@_of(FAULTS)
def server_frozen(site: Site) -> Undo:
    return _server(site, 'is_frozen')


@_of(FAULTS)
def store_empty(site: Site) -> Undo:
    """Restart the store of the members without its content."""
    if site.in_database:
        raise LookupError
    site.checker.tell('the store of the members restarts empty')
    site.store.rows.clear()
    site.checker.emptied_at = site.loop.now
    return nothing


@_of(FAULTS)
def store_loses(site: Site) -> Undo:
    """Let the store of the members lose those of all services but one.

    They are two at least, and that one has seen them: the product holds the
    loss of a single service for its death.
    """
    kept, store = host(site), site.store
    if site.in_database:
        raise LookupError
    alive = {key[0] for key in store.rows if store.alive(key)}
    for one in site.machines.values():
        if one.host == kept and one.built is not None:
            alive &= one.built.member.liveness().present
    if len(alive) < 2:
        raise LookupError
    site.checker.tell(f'the store of the members has only {kept}')
    for key in [key for key in store.rows if key[0] != kept]:
        del store.rows[key]
    site.checker.emptied_at = site.loop.now
    return nothing


@_of(FAULTS)
def database_clock(site: Site) -> Undo:
    seconds = site.loop.rng.choice((-1, 1)) * 10 ** site.loop.rng.uniform(0, 4)
    site.checker.tell(f'the clock of the database jumps by {seconds:.1f} s')
    site.database.ahead += seconds
    site.database.jumped_at = site.loop.now
    return nothing


@_of(FAULTS)
def wall_clock(site: Site) -> Undo:
    one, seconds = machine(site), site.loop.rng.uniform(-1e4, 1e4)
    site.checker.tell(f'the wall clock of {one.name} jumps by {seconds:.0f} s')
    one.wall_ahead += seconds
    return nothing


@_of(FAULTS)
def restore(site: Site) -> Undo:
    """Restore the records from a copy that is older by some time."""
    copy = site.database.save()

    def undo() -> None:
        site.checker.tell('the records are restored from an older copy')
        site.database.abort_all()
        site.database.restore(copy)
        site.checker.restored()

    return undo


@_of(FAULTS)
def blind_list(site: Site) -> Undo:
    site.bare_metal.sees = site.loop.rng.choice((0.0, 0.3, 0.7))
    site.checker.tell(f'lists of Ironic have {site.bare_metal.sees:.0%}')

    def undo() -> None:
        site.bare_metal.sees = 1.0

    return undo


@_of(CHANGES)
def create_node(site: Site) -> Undo:
    numbers = {int(uuid[-4:]) for uuid in site.checker.nodes}
    number = max(numbers) + 1
    shard = site.loop.rng.choice('abc')
    found = world.node(number, driver='fake', shard=shard)
    site.checker.nodes.add(found.uuid)
    site.bare_metal.put(found)
    site.checker.tell(f'Ironic has the new node {number}')
    return nothing


@_of(CHANGES)
def delete_node(site: Site) -> Undo:
    uuid = node(site, deployed=False)
    site.checker.tell(f'node {uuid[-4:]} is deleted in Ironic')
    site.bare_metal.delete(uuid)
    return nothing


@_of(CHANGES)
def return_node(site: Site) -> Undo:
    uuid = site.loop.rng.choice(sorted(site.bare_metal.gone_at))
    if uuid in site.bare_metal.nodes:
        raise LookupError
    site.checker.tell(f'node {uuid[-4:]} is back in Ironic')
    site.bare_metal.put(world.node(int(uuid[-4:]), driver='fake', shard='a'))
    return nothing


@_of(CHANGES)
def deploy(site: Site) -> Undo:
    uuid = node(site, deployed=False)
    site.instances += 1
    instance = world.uuid(9000 + site.instances)
    site.checker.tell(f'node {uuid[-4:]} gets the instance {instance[-4:]}')
    site.bare_metal.change(uuid, instance_uuid=instance)
    return nothing


@_of(CHANGES)
def undeploy(site: Site) -> Undo:
    uuid = node(site, deployed=True)
    site.checker.tell(f'node {uuid[-4:]} loses its instance')
    site.bare_metal.change(uuid, instance_uuid=None)
    return nothing


@_of(CHANGES)
def rescope(site: Site) -> Undo:
    uuid, shard = node(site), site.loop.rng.choice('abc')
    site.checker.tell(f'node {uuid[-4:]} is in shard {shard} now')
    site.bare_metal.change(uuid, shard=shard)
    return nothing


@_of(CHANGES)
def maintain(site: Site) -> Undo:
    uuid = node(site)
    site.bare_metal.change(uuid, maintenance=True)
    return lambda: (
        uuid in site.bare_metal.nodes
        and site.bare_metal.change(uuid, maintenance=False)
    )


@_of(CHANGES)
def reload(site: Site) -> Undo:
    """Change the intervals of a service, while it runs."""
    one = machine(site)
    if one.built is None:
        raise LookupError
    factor = site.loop.rng.choice((0.5, 0.8))
    times = site.times

    def request(share: float) -> None:
        if one.built is not None and not one.is_dead:
            site.checker.tell(f'{one.name} reloads, with intervals * {share}')
            tuning = site.tuning(
                one.host,
                heartbeat=times.heartbeat * share,
                refresh=times.refresh * share,
            )
            site.loop.spawn(
                one, 'reload', lambda: one.built.reload.request(tuning)
            )

    request(factor)
    return lambda: request(1.0)


def _reload(site: Site, one: ServiceProcess) -> None:
    if one.built is not None:
        one.built.reload.request(site.tuning(one.host))


@_of(CHANGES)
def reload_peers(site: Site) -> Undo:
    """Name the peers of a ring, all but one, in the services one by one."""
    if not site.checker.rebalances:
        raise LookupError
    less = tuple(sorted(set(site.policies) - {host(site)}))

    def everywhere(peers: tuple[str, ...]) -> None:
        settings = world.runs(peer_list=peers)
        site.checker.tell(f'peer_list is {peers or "all"} now')
        for name in site.policies:
            site.policies[name] = settings
        for one in site.machines.values():
            if one.built is not None:
                # As the file is then: a late request reads the last change.
                request = functools.partial(_reload, site, one)
                delay = site.loop.rng.uniform(0, site.times.heartbeat)
                site.loop.spawn(one, 'reload', request, delay)

    everywhere(less)
    return lambda: everywhere(())


def _at_work(site: Site, name: str, do: Callable[[], None]) -> None:
    """Do something while a process of the service works, or at once."""
    busy = [m for m in sorted(site.machines) if site.hosts[m] == name]
    one = site.machines[site.loop.rng.choice(busy)] if busy else None
    if one is None or one.countdown or site.loop.rng.random() < 0.3:
        do()
    else:
        at_a_step(one, do)


def _order(
    site: Site,
    name: str,
    *,
    after: str = '',
    dies_at: Sequence[str] = (),
    **request: object,
) -> None:
    """Run a command, which may die or stand still.

    :param after: a call that half of those have made then.
    :param dies_at: the calls at whose end it dies, if a story names some.
    """
    command = site.order(name, **request)
    site.checker.tell(f'{command.name} runs {name} {request}')

    stands = site.lasts if name in _STANDING and _named_calls(site) else 0.0

    def die() -> None:
        site.checker.tell(f'{command.name} dies at {command.last_step}')
        site.note('kill-command', command.last_step)
        site.loop.kill(command)
        site.database.abort_all(command)

    def stand_still() -> None:
        seconds = stands or site.loop.rng.uniform(0, 2) * site.times.ttl
        site.checker.tell(
            f'{command.name} stands still at {command.last_step}'
        )
        site.note('freeze-command', command.last_step)
        command.frozen_until = site.loop.now + seconds

    rng = site.loop.rng
    chance = rng.random()
    if dies_at:
        command.before_call(dies_at, 0, die)
    elif stands:
        command.before_call(_named_calls(site), 0, stand_still)
    elif chance < 0.4:
        do = die if chance < 0.2 else stand_still
        if after and rng.random() < 0.5:
            command.before_call([after], rng.randint(0, 60), do)
        else:
            at_a_step(command, do)


def _set(site: Site, name: str, **values: bool) -> None:
    _order(site, 'service:set', path={'host': name}, body=values)


@_of(COMMANDS)
def force_down(site: Site) -> Undo:
    name = host(site)
    _at_work(site, name, lambda: _set(site, name, forced_down=True))
    return lambda: _set(site, name, forced_down=False)


@_of(COMMANDS)
def disable(site: Site) -> Undo:
    name = host(site)
    _set(site, name, disabled=True)
    return lambda: _set(site, name, disabled=False)


@_of(COMMANDS)
def reserve(site: Site) -> Undo:
    """Reserve a node for a new instance, then confirm, delete or expire."""
    if not site.checker.reserves:
        raise LookupError
    site.instances += 1
    instance, rng = world.uuid(9000 + site.instances), site.loop.rng
    body = {
        'instance_uuid': instance,
        'service': host(site),
        'resource_class': 'baremetal',
    }
    _order(site, 'reservation:create', body=body)
    end = rng.choice(('reservation:delete', 'reservation:confirm', ''))
    return lambda: end and _order(site, end, path={'id': instance})


@_of(COMMANDS)
def standing_order(site: Site) -> Undo:
    """Order what happens to the deployed nodes of a service, then revoke."""
    order = functools.partial(_order, site, 'service:set')
    path = {'host': host(site)}
    seconds = int(site.loop.rng.uniform(0.3, 6) * site.times.heartbeat)
    body = {'take_over_deployed_after': seconds, 'reason': 'no one on call'}
    order(path=path, body=body)
    return lambda: order(path=path, body={'take_over_deployed_after': None})


def _elsewhere(site: Site) -> dict[str, object]:
    """Return how nodes move, also where policies give them to others."""
    if site.checker.rebalances:
        return {'skip_invalid': True}
    return {
        'skip_invalid': True,
        'override': ['destination_admits'],
        'reason': 'a rack moves',
    }


@_of(COMMANDS)
def move(site: Site) -> Undo:
    uuids = sorted({node(site), node(site)})
    body = {
        'service': host(site),
        'select': {'uuids': uuids},
        **_elsewhere(site),
    }
    _order(site, 'move:create', body=body)
    return nothing


@_of(COMMANDS)
def evacuate(site: Site) -> Undo:
    """Force a service down, and move its nodes away."""
    name, rng = host(site), site.loop.rng

    def drain() -> None:
        _order(
            site,
            'service:drain',
            path={'host': name},
            body={'skip_invalid': True},
        )

    def down() -> None:
        _set(site, name, forced_down=True)
        later = rng.uniform(0.2, 2) * site.times.heartbeat
        site.loop.spawn(site.loop.world, 'evacuate', drain, later)

    _at_work(site, name, down)
    return lambda: _set(site, name, forced_down=False)


@_of(COMMANDS)
def trial(site: Site) -> Undo:
    """Move nodes of a service, with a trial, or drain it so.

    It has been forced down, or serves: then its free nodes move only.
    """
    rng, source = site.loop.rng, host(site)
    others = sorted({*site.policies} - {source})
    named = [one for one in site.named if one in others]
    target = named[0] if named else rng.choice(others)
    body = {**_elsewhere(site), 'trial': rng.choice((1, 1, 2))}

    dies_at = _named_calls(site)

    def begin() -> None:
        # It may die while the trial waits for the new owner, or later.
        order = functools.partial(
            _order, site, after='SELECT-cond', dies_at=dies_at
        )
        if not named and rng.random() < 0.3:
            order('service:drain', path={'host': source}, body=body)
            return
        select = {'service': source}
        body.update(service=target, select=select)
        order('move:create', body=body)

    if not named and rng.random() < 0.3:
        begin()
        return nothing
    _set(site, source, forced_down=True)
    later = rng.uniform(0.2, 2) * site.times.heartbeat
    site.loop.spawn(site.loop.world, 'trial', begin, later)
    return lambda: _set(site, source, forced_down=False)


@_of(COMMANDS)
def resume(site: Site) -> Undo:
    moves = site.database.query(
        'SELECT request_id FROM moves ORDER BY request_id'
    ).fetchall()
    if not moves:
        raise LookupError
    (chosen,) = site.loop.rng.choice(moves)
    _order(
        site,
        'move:resume',
        path={'request_id': chosen},
        body={'skip_invalid': True},
    )
    return nothing


@_of(COMMANDS)
def release(site: Site) -> Undo:
    _order(site, 'compute_node:release', body={'uuids': [node(site)]})
    return nothing


@_of(COMMANDS)
def fail_over(site: Site) -> Undo:
    standbys = {site.hosts[m] for m in site.hosts if site.hosts[m] != m}
    if not standbys:
        raise LookupError
    name = _chosen(site, sorted(standbys))

    def order() -> None:
        _order(site, 'service:failover', path={'host': name}, body={})

    _at_work(site, name, order)
    return nothing


@_of(COMMANDS)
def pause(site: Site) -> Undo:
    """Pause changes of owner, everywhere or of one shard, then resume."""
    rng = site.loop.rng
    seconds = 2 * site.lasts or rng.uniform(1, 10) * site.times.ttl
    body: dict[str, object] = {
        'seconds': int(seconds),
        'reason': 'maintenance',
    }
    if not site.named and rng.random() < 0.3:
        body['shard'] = rng.choice('abc')
    _at_work(site, host(site), lambda: _order(site, 'pause:begin', body=body))
    return lambda: _order(site, 'pause:end')


@_of(COMMANDS)
def delete_record(site: Site) -> Undo:
    uuid = _chosen(site, sorted(site.checker.nodes))
    _order(site, 'compute_node:delete', path={'uuid': uuid})
    return nothing


@_of(COMMANDS)
def delete_service(site: Site) -> Undo:
    _order(site, 'service:delete', path={'host': host(site)})
    return nothing


ALL: Mapping[str, Begin] = {**FAULTS, **CHANGES, **COMMANDS}
OFTEN = (
    'kill',
    'freeze-long',
    'slow',
    'force-down',
    'evacuate',
    'fail-over',
    'move',
    'pause',
    'trial',
)
"""Kinds that are chosen more often than others."""


@dataclasses.dataclass(frozen=True)
class Planned:
    """A fault at a time, for some heartbeats.

    :param named: its targets; by default the seed chooses.
    """

    at: float
    kind: str
    lasts: float
    named: tuple[str, ...] = ()
