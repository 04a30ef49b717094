"""Network paths, servers, clocks and copies that fail."""

from __future__ import annotations

from tests.simulation.deployment import Site
from tests.simulation.faults import targets
from tests.simulation.faults.targets import Undo
from tests.simulation.links import Link


def _path(site: Site, **values: object) -> Undo:
    one, rng = targets.machine(site), site.loop.rng
    servers = targets.paths(site)
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

    if targets.named_calls(site):
        targets.at_a_step(one, begin)
    else:
        begin()

    def undo() -> None:
        ended.append(True)
        for path in paths:
            servers[path].links[one.name, path] = Link()
        site.checker.tell(f'{one.name} reaches {", ".join(paths)} again')

    return undo


@targets.fault
def cut(site: Site) -> Undo:
    return _path(site, is_cut=True)


@targets.fault
def silence(site: Site) -> Undo:
    return _path(site, is_silent=True)


@targets.fault
def slow(site: Site) -> Undo:
    most = site.loop.rng.choice((0.1, 0.5, 1.5)) * site.times.heartbeat
    return _path(site, latency=most)


@targets.fault
def lossy(site: Site) -> Undo:
    return _path(site, loses=site.loop.rng.choice((0.1, 0.4)))


@targets.fault
def flaky(site: Site) -> Undo:
    rng = site.loop.rng
    most = rng.choice((0.5, 1.5)) * site.times.heartbeat
    return _path(site, latency=most, loses=rng.choice((0.1, 0.4)))


def _server(site: Site, state: str) -> Undo:
    servers = targets.paths(site)
    if site.in_database:
        del servers['members']
    name = targets.chosen(site, sorted(servers))
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


@targets.fault
def server_down(site: Site) -> Undo:
    return _server(site, 'is_down')


@targets.fault
def server_frozen(site: Site) -> Undo:
    return _server(site, 'is_frozen')


@targets.fault
def store_empty(site: Site) -> None:
    """Restart the store of the members without its content."""
    if site.in_database:
        raise LookupError
    site.checker.tell('the store of the members restarts empty')
    site.store.rows.clear()
    site.checker.emptied_at = site.loop.now


@targets.fault
def store_loses(site: Site) -> None:
    """Let the store of the members lose those of all services but one.

    They are two at least, and that one has seen them: the product holds the
    loss of a single service for its death.
    """
    kept, store = targets.host(site), site.store
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


@targets.fault
def database_clock(site: Site) -> None:
    seconds = site.loop.rng.choice((-1, 1)) * 10 ** site.loop.rng.uniform(0, 4)
    site.checker.tell(f'the clock of the database jumps by {seconds:.1f} s')
    site.database.ahead += seconds
    site.database.jumped_at = site.loop.now


@targets.fault
def wall_clock(site: Site) -> None:
    one, seconds = targets.machine(site), site.loop.rng.uniform(-1e4, 1e4)
    site.checker.tell(f'the wall clock of {one.name} jumps by {seconds:.0f} s')
    one.wall_ahead += seconds


@targets.fault
def restore(site: Site) -> Undo:
    """Restore the records from a copy that is older by some time."""
    copy = site.database.save()

    def undo() -> None:
        site.checker.tell('the records are restored from an older copy')
        site.database.abort_all()
        site.database.restore(copy)
        site.checker.restored()

    return undo


@targets.fault
def blind_list(site: Site) -> Undo:
    site.bare_metal.sees = site.loop.rng.choice((0.0, 0.3, 0.7))
    site.checker.tell(f'lists of Ironic have {site.bare_metal.sees:.0%}')

    def undo() -> None:
        site.bare_metal.sees = 1.0

    return undo
