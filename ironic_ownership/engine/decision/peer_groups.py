"""Peer groups: services that share nodes, by their settings. Pure."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Collection, Iterable, Mapping

from ironic_ownership.contracts import exceptions, model, policy, texts
from ironic_ownership.engine import plugin_guard
from ironic_ownership.engine.decision import policy_set

BATCH = 1000
"""Nodes that are decided together, where some can be after others."""

OnFault = Callable[[Collection[str], exceptions.PluginFaultError], None]
"""Receives the hosts whose policies fail, and the error; may raise it."""


def raise_fault(
    hosts: Collection[str], error: exceptions.PluginFaultError
) -> None:
    """Raise the error, regardless of the hosts."""
    raise error


def _log(fault: str) -> None:
    # Imported where it is called: a list of services does without it.
    from oslo_log import log

    log.getLogger(__name__).warning('%s', fault)


def tolerant(report: Callable[[str], object] = _log) -> OnFault:
    """Return what goes on without the policies that fail, for one query.

    The nodes that may belong to their services are undecided.

    :param report: receives one sentence for each set of hosts.
    """
    known: set[tuple[str, ...]] = set()

    def tolerate(
        hosts: Collection[str], error: exceptions.PluginFaultError
    ) -> None:
        which = tuple(sorted(hosts))
        if which not in known:
            known.add(which)
            report(f'the policies of {", ".join(which)} fail: {error}')

    return tolerate


@dataclasses.dataclass(frozen=True, eq=False)
class PeerGroup:
    """Services that share the nodes they admit.

    Services that are temporarily away count as alive.

    :param settings: advertised by all of them, without their own values.
    :param policies: built from these settings.
    :param peers: hosts of the group, alive or not.
    :param hosts: peers that are alive or away, and enabled, sorted.
    :param first_joined: time on the store's clock, and host.
    :param fails: whether its peers are not known, because a policy fails.
    :param live_peers: the hosts, with what each advertises for itself.
    """

    settings: model.MemberSettings
    policies: policy_set.PolicySet
    peers: frozenset[str]
    hosts: tuple[str, ...]
    first_joined: tuple[float, str]
    fails: bool
    live_peers: tuple[policy.Peer, ...] = ()

    @property
    def rebalancing(self) -> bool:
        """True if records may change owner automatically in this group.

        Source: ironic-shards, "Config changes": only with more than one
        peer.
        """
        return self.policies.rebalancing and len(self.peers) > 1


@dataclasses.dataclass(frozen=True, eq=False)
class PeerGroups:
    """All services of one moment, in their peer groups.

    :param groups: every peer group with an enabled service, alive or away.
    :param alive: hosts in the view that are not forced down. A live owner
        releases a node; one that is not alive is fenced.
    :param away: hosts that are not alive, but expected back: they keep their
        nodes.
    :param policies: each service's policies, as it advertises them or last
        did; ``None`` where this process can't build them.
    :param overdue: hosts in the view that count as missing, because none of
        their processes has registered in time.
    :param on_fault: called when a policy fails. If it returns, the nodes
        that may belong to these hosts stay undecided.
    """

    groups: tuple[PeerGroup, ...]
    alive: frozenset[str]
    policies: Mapping[str, policy_set.PolicySet | None]
    away: frozenset[str] = frozenset()
    overdue: frozenset[str] = frozenset()
    on_fault: OnFault = raise_fault

    @classmethod
    def of(
        cls,
        view: model.View,
        services: Iterable[model.Service],
        interpret: policy_set.Interpreter,
        on_fault: OnFault = raise_fault,
        overdue: frozenset[str] = frozenset(),
    ) -> PeerGroups:
        """Group the members and the rows of the services into peers.

        A disabled or forced-down service is in no group, its own included.
        Nor is a member that is not the active process on record.
        """
        rows = {service.host: service for service in services}
        view = view.serving(rows.values()).without(overdue)
        settings = {host: row.settings.shared for host, row in rows.items()}
        settings |= {m.host: m.settings.shared for m in view.members}
        known = {text: interpret(text) for text in set(settings.values())}
        away = _away(rows.values(), view)
        return cls(
            groups=tuple(
                _groups(
                    [
                        # Nodes of any other member would wait until it
                        # registers, or for ever.
                        *(m for m in view.members if is_registered(m, rows)),
                        *away,
                    ],
                    rows,
                    settings,
                    known,
                    on_fault,
                )
            ),
            alive=frozenset(
                host
                for host in view.hosts
                if not (host in rows and rows[host].forced_down)
            ),
            policies={host: known[text] for host, text in settings.items()},
            away=frozenset(member.host for member in away),
            overdue=overdue,
            on_fault=on_fault,
        )

    @property
    def node_by_node(self) -> bool:
        """True if each decision is independent of the other nodes."""
        return all(
            not group.fails and group.policies.node_by_node
            for group in self.groups
        )

    @property
    def divisible(self) -> bool:
        """True if some nodes can be decided after others.

        Not where a decision may depend on other nodes, and not for policies
        of other packages: the time that they may take is limited for all
        nodes together.
        """
        return self.node_by_node and not any(
            group.policies.is_foreign for group in self.groups
        )

    @functools.cached_property
    def group_of(self) -> Mapping[str, PeerGroup]:
        """The peer group of each live or away, enabled host."""
        return {host: g for g in self.groups for host in g.hosts}

    @functools.cached_property
    def takers(self) -> frozenset[str]:
        """The live, enabled hosts that can get nodes.

        None can move to a service that is away, or whose peers are not known.
        """
        groups = self.group_of.items()
        return self.alive & {host for host, one in groups if not one.fails}

    def admits(self, host: str, node: model.Node) -> bool | None:
        """Tell whether a service's policies admit a node.

        :returns: ``None`` if its policies are not known, or fail.
        """
        policies = self.policies.get(host)
        if policies is None:
            return None
        try:
            return policies.admits_in_time(node)
        except exceptions.PluginFaultError as exc:
            self.on_fault((host,), exc)
            return None

    def scope(self, host: str) -> model.Scope | None:
        """Return the scope of a service's policies.

        :returns: ``None`` if its policies are not known, or fail.
        """
        policies = self.policies.get(host)
        try:
            return policies.scope if policies else None
        except exceptions.PluginFaultError as exc:
            self.on_fault((host,), exc)
            return None


def is_registered(
    member: model.Member, rows: Mapping[str, model.Service]
) -> bool:
    """Tell whether a member is the active process on record."""
    if not rows:  # the records could not be read
        return True
    row = rows.get(member.host)
    return row is not None and row.is_served_by(member)


def _away(
    rows: Iterable[model.Service], view: model.View
) -> list[model.Member]:
    # From the records alone, so that every process gets the same result.
    return [
        model.Member(
            row.host,
            row.incarnation or '',
            row.registered_at or 0.0,
            row.settings,
        )
        for row in rows
        if row.away and row.host not in view.hosts
    ]


def _groups(
    present: Iterable[model.Member],
    rows: Mapping[str, model.Service],
    settings: Mapping[str, model.MemberSettings],
    known: Mapping[model.MemberSettings, policy_set.PolicySet | None],
    on_fault: OnFault,
) -> Iterable[PeerGroup]:
    hosts_by_settings: dict[model.MemberSettings, list[str]] = {}
    for host in sorted(settings):
        hosts_by_settings.setdefault(settings[host], []).append(host)
    members: dict[
        tuple[model.MemberSettings, policy_set.PolicySet, frozenset[str]],
        list[model.Member],
    ] = {}
    failing: set[frozenset[str]] = set()
    for member in present:
        shared = member.settings.shared
        policies = known[shared]
        row = rows.get(member.host, model.Service(member.host))
        if policies is None or row.disabled or row.forced_down:
            continue
        candidates = hosts_by_settings[shared]
        try:
            peers = plugin_guard.bounded(
                functools.partial(policies.peers, member.host, candidates),
                foreign=policies.is_foreign,
            )
        except exceptions.PluginFaultError as exc:
            on_fault((member.host,), exc)
            peers = frozenset((member.host,))
            failing.add(peers)
        group = shared, policies, peers
        members.setdefault(group, []).append(member)
    for (text, policies, peers), of_group in members.items():
        yield PeerGroup(
            settings=text,
            policies=policies,
            peers=peers,
            hosts=tuple(sorted(m.host for m in of_group if m.host in peers)),
            first_joined=min((m.joined_at, m.host) for m in of_group),
            fails=peers in failing,
            live_peers=tuple(
                policy.Peer(m.host, m.settings.own_values)
                for m in sorted(of_group, key=operator.attrgetter('host'))
                if m.host in peers
            ),
        )


def why_unreadable(
    settings: model.MemberSettings, interpret: policy_set.Interpreter
) -> str:
    """Return why this process can't read settings; empty if it can."""
    if interpret(settings) is not None:
        return ''
    if settings.contract_version not in model.SUPPORTED_VERSIONS:
        supported = ' and '.join(map(str, model.SUPPORTED_VERSIONS))
        return (
            f'contract version {settings.contract_version}, while this '
            f'release supports {supported}'
        )
    # Read each alone to find the unknown ones.
    unknown = [
        one.name
        for one in settings.policies
        if interpret(model.MemberSettings((one,))) is None
    ]
    names = ', '.join(repr(name) for name in unknown) or 'its policies'
    return (
        f'policy {names} is not installed, not importable here or refuses its '
        'options'
    )


def readable_part(
    settings: model.MemberSettings, interpret: policy_set.Interpreter
) -> policy_set.PolicySet:
    """Return the filters of settings of which only a part can be built.

    What they refuse is not admitted; more is not known.
    """
    found = (
        interpret(model.MemberSettings((one,))) for one in settings.policies
    )
    return policy_set.PolicySet(
        tuple(f for part in found if part is not None for f in part.filters)
    )


def assigner_name(
    settings: model.MemberSettings, interpret: policy_set.Interpreter
) -> str | None:
    """Return the name of the assigner, if there is one."""
    for one in settings.policies:
        alone = interpret(model.MemberSettings((one,)))
        if alone is not None and alone.assigner is not None:
            return one.name
    return None


def settings_differences(
    settings: Mapping[tuple[str, ...], model.MemberSettings],
) -> str:
    """Return how the settings of several services differ.

    :param settings: by the hosts that advertise them.
    """
    options_of = {
        hosts: dict(settings_items(text)) for hosts, text in settings.items()
    }
    names = [name for items in options_of.values() for name in items]
    different = [
        name
        for name in dict.fromkeys(names)
        if len({items.get(name) for items in options_of.values()}) > 1
    ]
    return '; '.join(
        f'{texts.listed(hosts)}: '
        + ', '.join(f'{name}={items.get(name, "unset")}' for name in different)
        for hosts, items in options_of.items()
    )


def settings_items(settings: model.MemberSettings) -> list[tuple[str, str]]:
    """Return the name and the value of each advertised option, as text."""
    names = ','.join(one.name for one in settings.policies)
    return [
        ('policies', names),
        *(
            (f'{one.name}.{name}', _value_text(value))
            for one in settings.policies
            for name, value in one.options
        ),
    ]


def _value_text(value: model.Value) -> str:
    if isinstance(value, tuple):
        return f'[{",".join(value)}]'
    return '""' if value == '' else str(value)
