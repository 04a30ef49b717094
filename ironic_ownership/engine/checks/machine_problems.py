"""Problems of machines: services that the loss of one machine would end.

Pure. A process of an earlier release does not say on which machine it runs;
nothing is found about its service.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping

from ironic_ownership.engine import suggestions
from ironic_ownership.engine.checks.problem import (
    MEMBERS,
    RECORDED,
    Check,
    Kind,
    Problem,
    Severity,
    check,
)
from ironic_ownership.engine.queries.deployment import Deployment


@check(
    'machines of standbys',
    MEMBERS,
    Severity.WARNING,
    Kind.SERVICE,
    'standby_on_same_machine',
)
def same_machine(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find services whose processes all run on one machine."""
    found = {
        host: machines[0]
        for host, machines in _machines(seen).items()
        if len(machines) > 1 and len({*machines}) == 1
    }
    for machine, hosts in _by_machine(found):
        yield problem(
            'the active process and the standby of '
            f'{suggestions.listed(hosts)} run on one machine, {machine}: its '
            'loss ends both',
            hosts,
            'Run the standby on another machine',
        )


@check(
    'services of one machine',
    RECORDED,
    Severity.NOTE,
    Kind.SERVICE,
    'single_machine',
)
def single_machine(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find services with nodes that one machine serves, and no peer takes.

    Nothing is found where all services run on one machine.
    """
    machines = _machines(seen)
    if len({name for names in machines.values() for name in names}) < 2:
        return
    owners = {record.host for record in seen.records.values()}
    found = {
        host: names[0]
        for host, names in machines.items()
        if len(names) == 1
        and host in owners
        and not any(
            {*machines.get(peer, ())} - {*names} for peer in _peers(seen, host)
        )
    }
    for machine, hosts in _by_machine(found):
        yield problem(
            f'{suggestions.listed(hosts)} would not survive the loss of '
            f'{machine}: there is neither a standby nor a peer elsewhere',
            hosts,
            'Start a process with the same [DEFAULT] host on another machine: '
            'it stands by',
        )


def _machines(seen: Deployment) -> Mapping[str, list[str]]:
    """Return the machine of each process, by service, as far as known."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    silent = set()
    for one in (*seen.view.members, *seen.view.standbys):
        process = one.settings.process
        if process is None:
            silent.add(one.host)
        else:
            found[one.host].append(process.machine)
    return {host: found[host] for host in sorted(found.keys() - silent)}


def _peers(seen: Deployment, host: str) -> Iterable[str]:
    """Return the services that take free nodes when this one dies."""
    group = seen.peer_groups.group_of.get(host)
    return group.hosts if group is not None and group.rebalancing else ()


def _by_machine(
    found: Mapping[str, str],
) -> Iterable[tuple[str, list[str]]]:
    hosts: dict[str, list[str]] = collections.defaultdict(list)
    for host, machine in found.items():
        hosts[machine].append(host)
    return sorted(hosts.items())
