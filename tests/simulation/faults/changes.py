"""Changes of nodes in Ironic, and of configurations."""

from __future__ import annotations

import functools

from tests.simulation.deployment import ServiceProcess, Site
from tests.simulation.faults import targets
from tests.simulation.faults.targets import Undo
from tests.unit.engine import world


@targets.fault
def create_node(site: Site) -> None:
    numbers = {int(uuid[-4:]) for uuid in site.checker.nodes}
    number = max(numbers) + 1
    shard = site.loop.rng.choice('abc')
    found = world.node(number, driver='fake', shard=shard)
    site.checker.nodes.add(found.uuid)
    site.bare_metal.put(found)
    site.checker.tell(f'Ironic has the new node {number}')


@targets.fault
def delete_node(site: Site) -> None:
    uuid = targets.node(site, deployed=False)
    site.checker.tell(f'node {uuid[-4:]} is deleted in Ironic')
    site.bare_metal.delete(uuid)


@targets.fault
def return_node(site: Site) -> None:
    uuid = site.loop.rng.choice(sorted(site.bare_metal.gone_at))
    if uuid in site.bare_metal.nodes:
        raise LookupError
    site.checker.tell(f'node {uuid[-4:]} is back in Ironic')
    site.bare_metal.put(world.node(int(uuid[-4:]), driver='fake', shard='a'))


@targets.fault
def deploy(site: Site) -> None:
    uuid = targets.node(site, deployed=False)
    site.instances += 1
    instance = world.uuid(9000 + site.instances)
    site.checker.tell(f'node {uuid[-4:]} gets the instance {instance[-4:]}')
    site.bare_metal.change(uuid, instance_uuid=instance)


@targets.fault
def undeploy(site: Site) -> None:
    uuid = targets.node(site, deployed=True)
    site.checker.tell(f'node {uuid[-4:]} loses its instance')
    site.bare_metal.change(uuid, instance_uuid=None)


@targets.fault
def rescope(site: Site) -> None:
    uuid, shard = targets.node(site), site.loop.rng.choice('abc')
    site.checker.tell(f'node {uuid[-4:]} is in shard {shard} now')
    site.bare_metal.change(uuid, shard=shard)


@targets.fault
def maintain(site: Site) -> Undo:
    uuid = targets.node(site)
    site.bare_metal.change(uuid, maintenance=True)
    return lambda: (
        uuid in site.bare_metal.nodes
        and site.bare_metal.change(uuid, maintenance=False)
    )


@targets.fault
def reload(site: Site) -> Undo:
    """Change the intervals of a service, while it runs."""
    one = targets.machine(site)
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


@targets.fault
def reload_peers(site: Site) -> Undo:
    """Name the peers of a ring, all but one, in the services one by one."""
    if not site.checker.rebalances:
        raise LookupError
    less = tuple(sorted(set(site.policies) - {targets.host(site)}))

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
