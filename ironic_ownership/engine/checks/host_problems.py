"""Problems of host processes: stalled loops, and machines that they share.

Pure. Evaluates what the services have stored: a service that is alive and
does nothing is a problem. A process of an earlier release does not say on
which machine it runs; nothing is found about its service.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping

from ironic_ownership.contracts import model, texts
from ironic_ownership.contracts.conditions import (
    Condition,
    ConditionReport,
    Loop,
)
from ironic_ownership.contracts.exceptions import PluginFaultError
from ironic_ownership.engine.checks.problem import (
    MEMBERS,
    RECORDED,
    STORED,
    Check,
    Kind,
    Problem,
    Severity,
    check,
)
from ironic_ownership.engine.conditions import (
    CLOCK_SKEW,
    LOST_COMMITS,
    MASS_LOSS,
    NODES_TAKEN,
)
from ironic_ownership.engine.host.credential_probe import BLIND
from ironic_ownership.engine.queries import common_options
from ironic_ownership.engine.queries.deployment import Deployment
from ironic_ownership.engine.worker import LOOP_ENDED

_ERROR, _WARNING, _, _NOTE = Severity
_SERVICE = Kind.SERVICE

_RETRIES = (
    'Remove the cause that the message names: the service retries '
    'automatically, at the latest after [ownership] refresh_interval'
)
_ENDED = (
    'Its log has the traceback: repair the package that it names. The loop '
    'restarts automatically, and a restart of the service restarts all of them'
)
_CREDENTIAL = (
    'Give the user of [ironic] the role that the message names, set [ironic] '
    'system_scope = all if it is one of the system, and restart the service, '
    'which checks this when it starts. If the user sees all nodes and may not '
    'count them, set [ownership] trust_credential = true for the services and '
    'the commands, and send the services SIGHUP'
)
_SOURCES = (
    'Make the source readable, or repair the package that the message names: '
    'the service retries automatically, and continues with the last snapshot'
)
_NOTIFICATIONS = (
    'Start the message broker, or correct [notifications] transport_url and '
    'restart the service. It retries automatically, and the events wait '
    'in the history'
)
_ORDERS = (
    'Remove the cause that the message names: the service retries '
    'automatically, at each [ownership] refresh_interval. Or revoke the '
    'order: ironic-ownership service set HOST --no-take-over-deployed'
)
_ENFORCEMENT = (
    'Compare [enforcement] shared_key of the service with [ownership] '
    'shared_keys in ironic.conf, and the clocks of both machines; the log of '
    'Ironic has the cause. The service retries automatically'
)
_TAKEN = (
    'Move nodes back with "ironic-ownership compute node move", or leave them '
    'there. Then give the service its order again, or revoke it: '
    'ironic-ownership service set HOST --no-take-over-deployed'
)
_BUDGET = (
    'Wait; or set [ownership] handover_rate and handover_share to more in all '
    'services, and send them SIGHUP'
)
_LOSS = (
    'If these nodes were deleted on purpose, set [ownership] '
    'mass_loss_share = 1 for {host} and send SIGHUP: the records are deleted '
    'within two refreshes, each after its own gates; then set it back. If '
    'not, correct Ironic, or the credential in [ironic] of {host}'
)

_CODES: Mapping[str, tuple[str, Severity, str]] = {
    Loop.START: ('start_stalled', _ERROR, _RETRIES),
    Loop.HEARTBEAT: ('heartbeat_stalled', _ERROR, _RETRIES),
    Loop.EPOCH: ('epoch_stalled', _ERROR, _RETRIES),
    Loop.REFRESH: ('refresh_stalled', _ERROR, _RETRIES),
    Loop.TAKE_OVER: ('take_over_stalled', _ERROR, _RETRIES),
    Loop.PLACEMENT: ('placement_stalled', _WARNING, _RETRIES),
    Loop.RESERVATIONS: ('reservations_stalled', _WARNING, _RETRIES),
    Loop.CREDENTIAL: ('credential_limited', _WARNING, _CREDENTIAL),
    Loop.SOURCES: ('sources_stalled', _WARNING, _SOURCES),
    Loop.NOTIFICATIONS: ('notifications_stalled', _WARNING, _NOTIFICATIONS),
    Loop.ORDERS: ('standing_orders_stalled', _ERROR, _ORDERS),
    Loop.ENFORCEMENT: ('enforcement_stalled', _ERROR, _ENFORCEMENT),
}
"""Code, severity and hint of a loop that fails; no code is ever removed."""

_BY_CONDITION: Mapping[str | None, tuple[str, Severity, str]] = {
    BLIND: (BLIND, _ERROR, _CREDENTIAL),
    NODES_TAKEN: (NODES_TAKEN, _WARNING, _TAKEN),
}
"""Those that have a code of their own, instead of that of their loop."""

_ELSEWHERE = (MASS_LOSS, LOST_COMMITS, CLOCK_SKEW)
"""Codes that checks of their own find."""

CODES = frozenset(
    code for code, *_ in (*_CODES.values(), *_BY_CONDITION.values())
)


@check('loops of services', RECORDED, _ERROR, _SERVICE, *sorted(CODES))
def stalled(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find loops that fail for a refresh interval, or whose thread ended."""
    found: dict[tuple[str, str, str, bool], list[str]] = (
        collections.defaultdict(list)
    )
    for host, report, one in failing(seen):
        if one.code in _ELSEWHERE or (
            one.code == PluginFaultError.code and host in seen.view.hosts
        ):
            continue
        waits = one.since is not None and (
            report.now - one.since < report.interval
        )
        if not waits or _has_ended(one):
            key = one.loop, one.error, one.code or '', _has_ended(one)
            found[key].append(host)
    for (loop, error, cause, ended), hosts in sorted(found.items()):
        code, severity, hint = _BY_CONDITION.get(cause) or _CODES.get(
            loop, (f'{loop}_stalled', _ERROR, _RETRIES)
        )
        yield problem(
            f'the {loop} loop of {texts.listed(hosts)} '
            f'{"has ended" if ended else "fails"}: {error}',
            hosts,
            _ENDED if ended else hint,
            code=code,
            severity=_ERROR if ended else severity,
        )


@check('mass loss', RECORDED, _ERROR, _SERVICE, MASS_LOSS)
def mass_loss(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find services that delete no records: too many nodes are missing."""
    for host, _, one in failing(seen):
        if one.code == MASS_LOSS:
            yield problem(
                f'{host}: {one.error}', (host,), _LOSS.format(host=host)
            )


@check('budget', STORED, _NOTE, _SERVICE, 'changes_delayed')
def delayed(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find services whose changes of owner wait for the budget."""
    for host, report in sorted(seen.reports.items()):
        notes = [one.note for one in report.conditions if one.note]
        if notes and not report.is_outdated:
            yield problem(f'{host}: {"; ".join(notes)}', (host,), _BUDGET)


@check(
    'conditions of services', RECORDED, _ERROR, _SERVICE, 'conditions_outdated'
)
def outdated(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find live services that no longer store their conditions.

    A service of an earlier release stores none.
    """
    hosts = [
        host
        for host, report in sorted(seen.reports.items())
        if host in seen.view.hosts
        and report.is_outdated
        and (row := seen.services.get(host)) is not None
        and row.incarnation == report.incarnation
    ]
    if hosts:
        yield problem(
            f'{texts.listed(hosts)} sent heartbeats, but stored no '
            'conditions for two refresh intervals',
            hosts,
            'Make sure that the service reaches the database: its log names '
            'the error. If it does, restart it',
        )


def failing(
    seen: Deployment,
) -> Iterator[tuple[str, ConditionReport, Condition]]:
    """Return the loops that fail, by host, of reports that are current."""
    for host, report in sorted(seen.reports.items()):
        if not report.is_outdated:
            for one in report.failing:
                yield host, report, one


def _has_ended(one: Condition) -> bool:
    return one.ended or one.code == LOOP_ENDED


@check(
    'machines of standbys',
    MEMBERS,
    _WARNING,
    _SERVICE,
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
            f'{texts.listed(hosts)} run on one machine, {machine}: its '
            'loss ends both',
            hosts,
            'Run the standby on another machine',
        )


@check('common options', RECORDED, _ERROR, _SERVICE, 'options_differ')
def options_differ(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find processes with other options, where all need the same ones."""
    known: tuple[model.Member | model.Service, ...] = (
        *(*seen.view.members, *seen.view.standbys),
        *common_options.reporting(seen.services.values(), seen.reports),
    )
    found = collections.defaultdict[common_options.Lines, list[str]](list)
    for one in known:
        if (process := one.settings.process) and process.common:
            ttl = f'[membership] member_ttl = {process.member_ttl:g}'
            found[*process.common, ttl].append(one.host)
    if len(found) > 1:
        yield problem(
            'processes with options that have to be the same: '
            + common_options.differences(found),
            {host for hosts in found.values() for host in hosts},
            'Give all processes the same values, and restart those whose '
            'files you change',
        )


@check(
    'services of one machine',
    RECORDED,
    _NOTE,
    _SERVICE,
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
            f'{texts.listed(hosts)} would not survive the loss of '
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


def _by_machine(found: Mapping[str, str]) -> Iterable[tuple[str, list[str]]]:
    hosts: dict[str, list[str]] = collections.defaultdict(list)
    for host, machine in found.items():
        hosts[machine].append(host)
    return sorted(hosts.items())
