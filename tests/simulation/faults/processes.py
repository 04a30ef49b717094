"""Processes that die, stop, or stand still."""

from __future__ import annotations

from tests.simulation.deployment import Site
from tests.simulation.faults import targets
from tests.simulation.faults.targets import Undo


def _restart(site: Site, name: str) -> None:
    if name not in site.machines:
        site.start(name)


@targets.fault
def kill(site: Site) -> Undo:
    one = targets.machine(site)

    def now() -> None:
        if site.machines.get(one.name) is one:
            site.checker.tell(f'{one.name} dies at {one.last_step}')
            site.note('kill', one.last_step)
            site.kill(one.name)

    def undo() -> None:
        now()
        _restart(site, one.name)

    targets.at_a_step(one, now)
    return undo


@targets.fault
def restart_at_once(site: Site) -> None:
    """Let a process die, and start the next one in the same moment."""
    one = targets.machine(site)

    def now() -> None:
        if site.machines.get(one.name) is one:
            site.checker.tell(f'{one.name} dies, and starts again')
            site.note('restart', one.last_step)
            site.kill(one.name)
            site.start(one.name)

    targets.at_a_step(one, now)


@targets.fault
def stop(site: Site) -> Undo:
    one = targets.machine(site)
    site.checker.tell(f'{one.name} is stopped')
    one.stop()

    def undo() -> None:
        if site.machines.get(one.name) is one:
            site.kill(one.name)
        _restart(site, one.name)

    return undo


def _freeze(site: Site, shortest: float, longest: float) -> None:
    one, rng = targets.machine(site), site.loop.rng
    seconds = site.lasts or rng.uniform(shortest, longest) * site.times.ttl

    def now() -> None:
        site.checker.tell(
            f'{one.name} stands still for {seconds:.1f} s at {one.last_step}'
        )
        site.note('freeze', one.last_step)
        one.frozen_until = site.loop.now + seconds

    targets.at_a_step(one, now)


@targets.fault
def freeze_short(site: Site) -> None:
    _freeze(site, 0.01, 0.9)


@targets.fault
def freeze_long(site: Site) -> None:
    _freeze(site, 0.95, 3)
