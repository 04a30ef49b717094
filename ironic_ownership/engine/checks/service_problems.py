"""Problems of services: settings, views, shares of a ring, reservations.

Pure. Each function is one check and yields any number of problems.
"""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from ironic_ownership.contracts import model, reservations, texts
from ironic_ownership.contracts.exceptions import PluginFaultError
from ironic_ownership.engine.changes.shard_plan import connected
from ironic_ownership.engine.checks.host_problems import failing
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
from ironic_ownership.engine.conditions import CLOCK_SKEW, LOST_COMMITS
from ironic_ownership.engine.decision.peer_groups import (
    PeerGroup,
    settings_differences,
    why_unreadable,
)
from ironic_ownership.engine.queries import balance
from ironic_ownership.engine.queries.deployment import Deployment

_ERROR, _WARNING, *_ = Severity
_SERVICE = Kind.SERVICE
_UNFINISHED = reservations.OPEN - {reservations.ReservationState.ACTIVE}


@check('settings of peers', MEMBERS, _ERROR, _SERVICE, 'settings_differ')
def settings_differ(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find services that should be peers and run different settings.

    They should be if one names the other as a peer, or both have one scope;
    not with a shard key, under which no service has a peer.
    """

    def should_be_peers(one: PeerGroup, other: PeerGroup) -> bool:
        if None not in (one.policies.scope.shard, other.policies.scope.shard):
            return False
        named = one.peers & frozenset(other.hosts) or other.peers & frozenset(
            one.hosts
        )
        one_scope = one.policies.scope == other.policies.scope
        return one.settings != other.settings and bool(named or one_scope)

    for groups in _related(seen.peer_groups.groups, should_be_peers):
        yield problem(
            'peers with different settings: '
            + settings_differences({g.hosts: g.settings for g in groups}),
            _hosts(groups),
            'Give all of them the same policies and options, and send SIGHUP '
            'to those whose files you change',
        )


@check('case of settings', MEMBERS, _WARNING, _SERVICE, 'settings_case')
def settings_case(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find members whose settings differ only in case."""
    folded: dict[str, list[model.Member]] = collections.defaultdict(list)
    for member in seen.view.members:
        folded[member.settings.shared.to_json().casefold()].append(member)
    for members in folded.values():
        by_settings: dict[model.MemberSettings, tuple[str, ...]] = {}
        for member in members:
            same = by_settings.get(member.settings.shared, ())
            by_settings[member.settings.shared] = (*same, member.host)
        if len(by_settings) > 1:
            yield problem(
                'settings that differ only in case: '
                + settings_differences(
                    {hosts: text for text, hosts in by_settings.items()}
                ),
                [member.host for member in members],
                'Use the same case everywhere: that of Ironic',
            )


@check('names of peers', RECORDED, _WARNING, _SERVICE, 'peer_unknown')
def unknown_peers(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find names of peers that never were services."""
    known = seen.services.keys() | seen.view.hosts
    for group in seen.peer_groups.groups:
        unknown = sorted(group.peers - known)
        if unknown:
            yield problem(
                f'{texts.counted(len(unknown), "unknown peer")} in the list '
                f'of {texts.listed(group.hosts)}: {texts.listed(unknown)}',
                unknown,
                'Correct the list of peers, or start these services',
                group.hosts,
            )


@check(
    'shared filters',
    MEMBERS,
    _ERROR,
    _SERVICE,
    'filter_shared',
    'shard_shared',
)
def shared_filters(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find live services that share a shard or a filter.

    Source: ironic-shards: nodes are spread by one shard key for each process.
    """

    def overlap(one: PeerGroup, other: PeerGroup) -> bool:
        mine, its = one.policies.scope, other.policies.scope
        if mine.shard is None or its.shard is None:
            return one.settings == other.settings
        return not mine.intersect(its).nothing

    for groups in _related(seen.peer_groups.groups, overlap):
        hosts, shard = _hosts(groups), groups[0].policies.scope.shard
        without_effect = shard is not None and any(
            group.policies.assigner is not None
            and group.policies.rebalancing
            and len(group.peers) == 1
            for group in groups
        )
        yield problem(
            f'{texts.listed(hosts)} share a filter and '
            + (
                'have no common assigner'
                if groups[0].policies.assigner is None
                else 'do not name each other as peers'
            )
            if shard is None
            else f'{texts.listed(hosts)} share the shard {shard!r}',
            hosts,
            (
                'With a shard key peer_list has no effect, so they do not '
                'share the shard: give each its own shard_key, or remove '
                'shard_key from all of them to share nodes by peer_list'
                if without_effect
                else 'Give each its own filter; for a standby, give both '
                'processes the same [DEFAULT] host'
            ),
            code='filter_shared' if shard is None else 'shard_shared',
        )


@check('views', RECORDED, _WARNING, _SERVICE, 'view_differs')
def views_differ(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find live services whose last reported view is not the current one.

    Services that have not reported a view yet are ignored.
    """
    current = seen.view.checksum
    found = [
        host
        for host in sorted(seen.view.hosts)
        if host in seen.services
        and seen.services[host].view_checksum not in (None, current)
    ]
    if found:
        yield problem(
            f'{texts.listed(found)} last reported other members than '
            f'the current ones (checksum {current})',
            found,
            'Normal for a heartbeat after members change; if it lasts, find '
            'the service that uses another membership backend or store',
        )


@check(
    'unreadable settings', MEMBERS, _WARNING, _SERVICE, 'settings_unreadable'
)
def unreadable(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find members whose settings can't be read by this installation."""
    for member in seen.view.members:
        why = why_unreadable(member.settings, seen.interpret)
        if why:
            yield problem(
                f'{member.host} advertises settings that cannot be read '
                f'here: {why}',
                [member.host],
                'It has no peers, and nodes that may be its own are not '
                'checked here. Install the same release and policies '
                'everywhere, and name those of other packages in [ownership] '
                'importable_policies',
            )


@check('rejected configurations', RECORDED, _WARNING, _SERVICE, 'config_error')
def config_errors(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find live services that rejected their changed configuration."""
    for host, row in sorted(seen.services.items()):
        if host in seen.view.hosts and row.config_error:
            yield problem(
                f'{host} keeps its old configuration: {row.config_error}',
                [host],
                'Correct the file and send SIGHUP again',
            )


@check('failing policies', RECORDED, _ERROR, _SERVICE, 'plugin_fault')
def plugin_faults(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find live services whose policies fail, or take too long."""
    for host, fault in _reported(seen, PluginFaultError.code).items():
        yield problem(
            f'{host} cannot decide and changes no owner: {fault}',
            [host],
            'Repair that package, or remove its policy from [ownership] '
            'policies; "ironic-ownership plugin check" tests it',
        )


@check('lost commits', RECORDED, _ERROR, _SERVICE, 'records_rewound')
def records_rewound(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find live services that noticed lost commits."""
    found = {
        host: lost
        for host, lost in _reported(seen, LOST_COMMITS).items()
        # One that is forced down neither acts nor reports: see --up.
        if not seen.services[host].forced_down
    }
    if found:
        yield problem(
            f'{next(iter(found.values()))}; noticed by '
            f'{texts.listed(sorted(found))}',
            sorted(found),
            'The services have read everything again. Repeat what operators '
            'changed last, compared with "service list", "move list" and '
            '"reservation list"; then send SIGHUP to each of these services',
        )


@check('clocks of the database', RECORDED, _WARNING, _SERVICE, 'clock_skew')
def clock_skew(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find live services whose database servers have different clocks."""
    if found := _reported(seen, CLOCK_SKEW):
        yield problem(
            '; '.join(found.values()),
            sorted(found),
            'Correct the clocks of the database servers, for example by NTP, '
            'and use the same member_ttl for all services. The finding is '
            'gone after about ten heartbeats and a refresh',
        )


def _reported(seen: Deployment, code: str) -> dict[str, str]:
    """Return the errors of live services that report a code, in order."""
    found: dict[str, str] = {}
    live = seen.view.hosts & seen.services.keys()
    for host, _, one in failing(seen):
        if host in live and one.code == code:
            found.setdefault(host, one.error)
    return found


@check('pauses', STORED, _WARNING, Kind.PAUSE, 'paused')
def paused(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find pauses of automatic changes of owner."""
    for pause in seen.pauses:
        minutes = math.ceil((pause.ends_at - pause.began_at) / 60)
        yield problem(
            f'{pause.actor} paused automatic changes of owner of '
            f'{pause.scope} for {minutes} min: {pause.reason}',
            [pause.request_id],
            'Run "ironic-ownership resume" when the work is done; the pause '
            'ends automatically in any case',
        )


@check('standing orders', RECORDED, _WARNING, _SERVICE, 'standing_order')
def standing_orders(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find services whose deployed nodes will move by a standing order."""
    for host, row in sorted(seen.services.items()):
        dead = host not in seen.view.hosts
        if row.order is None or not row.may_lose_nodes(dead=dead):
            continue
        state, start = 'not alive', f'Start {host}'
        if row.forced_down:
            state = 'forced down'
            start = f'Run "ironic-ownership service set {host} --up"'
        when = (
            'now'
            if row.order_due
            else f'when it has been fenced for {row.order.after} s'
        )
        yield problem(
            f'{host} is {state}: its deployed nodes move {when}, by the '
            f'standing order of {row.order.actor}: {row.order.reason}',
            [host],
            f'{start}; or revoke the order: ironic-ownership service set '
            f'{host} --no-take-over-deployed. Once its nodes have moved, '
            'revoke it, or delete the service',
        )


@check('balance', RECORDED, _WARNING, _SERVICE, 'imbalance')
def imbalance(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find rings whose largest share exceeds 1.5 times the expected one."""
    owned = collections.Counter(r.host for r in seen.records.values())
    for group, spread in balance.rings(seen.peer_groups, owned):
        if spread.uneven:
            most = spread.largest
            yield problem(
                f'{most} owns {spread.nodes[most]} nodes, '
                + (
                    f'{spread.nodes[most] / spread.mean:.2f} times the mean'
                    if spread.shares is None
                    else f'and should own {spread.expected(most):.0f}'
                )
                + f' of its ring of {len(group.hosts)}',
                [most],
                '"ironic-ownership ring show" shows all shares; use shards to '
                'control how nodes are spread',
            )


@check(
    'reservations of dead services',
    RECORDED,
    _WARNING,
    Kind.RESERVATION,
    'reservation_left',
)
def unsettled(seen: Deployment, problem: Check) -> Iterator[Problem]:
    """Find reservations that wait for a service that may not act."""
    waiting: dict[str, list[str]] = collections.defaultdict(list)
    rows = seen.services
    for one in seen.reservations:
        row = rows.get(one.host, model.Service(one.host))
        lives = one.host in seen.view.hosts or row.away
        if (row.forced_down or not lives) and _needs_its_service(one):
            waiting[one.host].append(one.id)
    for host in sorted(waiting):
        what, back = 'dead', f'Start {host} again'
        if host in rows and rows[host].forced_down:
            what = 'forced down'
            back = f'Run "ironic-ownership service set {host} --up"'
        yield problem(
            f'{texts.counted(len(waiting[host]), "reservation")} of '
            f'{host}, which is {what}: unfinished or due to expire, and '
            'settled by no service',
            waiting[host],
            f'{back}, or release the nodes: '
            'ironic-ownership reservation delete ID',
            (host,),
        )


def _needs_its_service(one: reservations.Reservation) -> bool:
    if one.state is reservations.ReservationState.ACTIVE:
        return one.expires_at is not None and not one.confirmed
    return one.state in _UNFINISHED


def _related(
    groups: Sequence[PeerGroup],
    related: Callable[[PeerGroup, PeerGroup], bool],
) -> Iterable[Sequence[PeerGroup]]:
    """Return the sets of groups that are related, directly or indirectly."""
    numbers = range(len(groups))
    root = connected(
        (one, other)
        for one, other in itertools.combinations(numbers, 2)
        if related(groups[one], groups[other])
    )
    sets: dict[int, list[PeerGroup]] = collections.defaultdict(list)
    for number in numbers:
        sets[root(number)].append(groups[number])
    return [found for found in sets.values() if len(found) > 1]


def _hosts(groups: Iterable[PeerGroup]) -> list[str]:
    return sorted(host for group in groups for host in group.hosts)
