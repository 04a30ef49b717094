"""Commands of operators, which may die or stand still."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tests.simulation.deployment import Site
from tests.simulation.faults import targets
from tests.simulation.faults.targets import Undo
from tests.unit.engine import world

_STANDING = ('compute_node:release', 'move:create')
"""Commands that stand still at the calls that their line of a story names."""


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

    stands = (
        site.lasts if name in _STANDING and targets.named_calls(site) else 0.0
    )

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
        command.before_call(targets.named_calls(site), 0, stand_still)
    elif chance < 0.4:
        do = die if chance < 0.2 else stand_still
        if after and rng.random() < 0.5:
            command.before_call([after], rng.randint(0, 60), do)
        else:
            targets.at_a_step(command, do)


def _set(site: Site, name: str, **values: bool) -> None:
    _order(site, 'service:set', path={'host': name}, body=values)


@targets.fault
def force_down(site: Site) -> Undo:
    name = targets.host(site)
    targets.at_work(site, name, lambda: _set(site, name, forced_down=True))
    return lambda: _set(site, name, forced_down=False)


@targets.fault
def disable(site: Site) -> Undo:
    name = targets.host(site)
    _set(site, name, disabled=True)
    return lambda: _set(site, name, disabled=False)


@targets.fault
def reserve(site: Site) -> Undo:
    """Reserve a node for a new instance, then confirm, delete or expire."""
    if not site.checker.reserves:
        raise LookupError
    site.instances += 1
    instance, rng = world.uuid(9000 + site.instances), site.loop.rng
    body = {
        'instance_uuid': instance,
        'service': targets.host(site),
        'resource_class': 'baremetal',
    }
    _order(site, 'reservation:create', body=body)
    end = rng.choice(('reservation:delete', 'reservation:confirm', ''))
    return lambda: end and _order(site, end, path={'id': instance})


@targets.fault
def standing_order(site: Site) -> Undo:
    """Order what happens to the deployed nodes of a service, then revoke."""
    order = functools.partial(_order, site, 'service:set')
    path = {'host': targets.host(site)}
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


@targets.fault
def move(site: Site) -> None:
    uuids = sorted({targets.node(site), targets.node(site)})
    body = {
        'service': targets.host(site),
        'select': {'uuids': uuids},
        **_elsewhere(site),
    }
    _order(site, 'move:create', body=body)


@targets.fault
def evacuate(site: Site) -> Undo:
    """Force a service down, and move its nodes away."""
    name, rng = targets.host(site), site.loop.rng

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

    targets.at_work(site, name, down)
    return lambda: _set(site, name, forced_down=False)


@targets.fault
def trial(site: Site) -> Undo | None:
    """Move nodes of a service, with a trial, or drain it so.

    It has been forced down, or serves: then its free nodes move only.
    """
    rng, source = site.loop.rng, targets.host(site)
    others = sorted({*site.policies} - {source})
    named = [one for one in site.named if one in others]
    target = named[0] if named else rng.choice(others)
    body = {**_elsewhere(site), 'trial': rng.choice((1, 1, 2))}

    dies_at = targets.named_calls(site)

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
        return None
    _set(site, source, forced_down=True)
    later = rng.uniform(0.2, 2) * site.times.heartbeat
    site.loop.spawn(site.loop.world, 'trial', begin, later)
    return lambda: _set(site, source, forced_down=False)


@targets.fault
def resume(site: Site) -> None:
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


@targets.fault
def release(site: Site) -> None:
    _order(site, 'compute_node:release', body={'uuids': [targets.node(site)]})


@targets.fault
def fail_over(site: Site) -> None:
    standbys = {site.hosts[m] for m in site.hosts if site.hosts[m] != m}
    if not standbys:
        raise LookupError
    name = targets.chosen(site, sorted(standbys))

    def order() -> None:
        _order(site, 'service:failover', path={'host': name}, body={})

    targets.at_work(site, name, order)


@targets.fault
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
    targets.at_work(
        site,
        targets.host(site),
        lambda: _order(site, 'pause:begin', body=body),
    )
    return lambda: _order(site, 'pause:end')


@targets.fault
def delete_record(site: Site) -> None:
    uuid = targets.chosen(site, sorted(site.checker.nodes))
    _order(site, 'compute_node:delete', path={'uuid': uuid})


@targets.fault
def delete_service(site: Site) -> None:
    _order(site, 'service:delete', path={'host': targets.host(site)})
