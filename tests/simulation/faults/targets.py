"""The kinds of fault, and what they choose by the seed or by a story."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.deployment import Command, ServiceProcess, Site
from tests.simulation.links import Server

Undo = Callable[[], None]
Begin = Callable[[Site], Undo | None]

ALL: dict[str, Begin] = {}
"""Each begins a fault, and returns what ends it, if anything, by its name.

It raises ``LookupError`` where there is no target now.
"""


def fault(begin: Begin) -> Begin:
    """Add a kind of fault."""
    ALL[begin.__name__.replace('_', '-')] = begin
    return begin


def machine(site: Site) -> ServiceProcess:
    """Choose a process that runs."""
    return site.machines[chosen(site, sorted(site.machines))]


def host(site: Site) -> str:
    """Choose a service."""
    return chosen(site, sorted(site.policies))


def chosen(site: Site, among: list[str]) -> str:
    """Return what a story names, or what the seed chooses."""
    found = [one for one in site.named if one in among]
    return found[0] if found else site.loop.rng.choice(among)


def node(site: Site, *, deployed: bool | None = None) -> str:
    """Choose a node."""
    return chosen(
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
    if named := named_calls(site):
        process.before_call(named, 0, do)
    elif calls and not site.named and rng.random() < 0.5:
        process.before_call([rng.choice(calls)], rng.randint(0, 3), do)
    else:
        process.after_steps(rng.randint(1, 40), do)


def named_calls(site: Site) -> list[str]:
    """Return the calls that a story names, whether they were made or not."""
    others = {*site.hosts, *paths(site), 'all'}
    return [name for name in site.named if name not in others]


def paths(site: Site) -> dict[str, Server]:
    """Return the server at the end of each path."""
    return {
        'records': site.database,
        'members': site.database if site.in_database else site.members,
        'ironic': site.ironic,
    }


def at_work(site: Site, name: str, do: Callable[[], None]) -> None:
    """Do something while a process of the service works, or at once."""
    busy = [m for m in sorted(site.machines) if site.hosts[m] == name]
    one = site.machines[site.loop.rng.choice(busy)] if busy else None
    if one is None or one.countdown or site.loop.rng.random() < 0.3:
        do()
    else:
        at_a_step(one, do)
