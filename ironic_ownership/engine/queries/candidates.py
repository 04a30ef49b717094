"""The services that were considered for one node, and what each says of it.

Pure. Every service that is known is here, also those that cannot own nodes:
most questions are about why not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.decision import policy_set, settings_diff
from ironic_ownership.engine.decision.peer_groups import PeerGroups


@dataclasses.dataclass(frozen=True)
class Moment:
    """What the services of a moment are known by."""

    view: model.View
    services: Sequence[model.Service]
    interpret: policy_set.Interpreter
    peer_groups: PeerGroups

    @classmethod
    def of(
        cls,
        view: model.View,
        services: Sequence[model.Service],
        interpret: policy_set.Interpreter,
    ) -> Moment:
        """Build it, with its peer groups."""
        serving = view.serving(services)
        found = PeerGroups.of(serving, services, interpret)
        return cls(serving, services, interpret, found)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What one policy of a service says about the node.

    :param admits: ``None`` for an assigner, and if it is not known.
    """

    policy: model.PolicySettings
    admits: bool | None
    says: str


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One service, and why it is considered or is not.

    :param admits: whether its policies admit the node; ``None`` if that is
        not known.
    :param scope: what its policies let Ironic filter by, if that is known.
    :param considered: whether it takes part in the decision.
    :param why: one phrase.
    """

    host: str
    alive: bool
    disabled: bool
    forced_down: bool
    readable: bool
    verdicts: tuple[Verdict, ...]
    admits: bool | None
    scope: model.Scope | None
    considered: bool
    why: str

    @property
    def eligible(self) -> bool:
        """Whether it could own nodes at all, whatever its policies say."""
        return (
            self.alive
            and self.readable
            and not self.disabled
            and not self.forced_down
        )


def consider(
    node: model.Node | None,
    rows: Mapping[str, model.Service],
    moment: Moment,
) -> tuple[Candidate, ...]:
    """Return every known service, by host.

    :param node: ``None`` if Ironic does not have it.
    :param rows: the rows of the services, by host.
    """
    return tuple(
        _candidate(
            node,
            rows.get(host, model.Service(host)),
            moment.view.get(host),
            moment,
        )
        for host in sorted(rows.keys() | moment.view.hosts)
    )


def _candidate(
    node: model.Node | None,
    row: model.Service,
    member: model.Member | None,
    moment: Moment,
) -> Candidate:
    settings = member.settings if member else row.settings
    unreadable = settings_diff.unreadable(settings, moment.interpret)
    verdicts = tuple(
        _verdict(policy, node, moment.interpret, unreadable)
        for policy in settings.policies
    )
    admits = moment.peer_groups.admits(row.host, node) if node else None
    policies = moment.peer_groups.policies.get(row.host)
    group = moment.peer_groups.group_of.get(row.host)
    return Candidate(
        host=row.host,
        alive=member is not None,
        disabled=row.disabled,
        forced_down=row.forced_down,
        readable=not unreadable,
        verdicts=verdicts,
        admits=admits,
        scope=policies.scope if policies else None,
        considered=bool(group and admits),
        why=_why(row, member, unreadable, admits, verdicts),
    )


def _why(
    row: model.Service,
    member: model.Member | None,
    unreadable: str,
    admits: bool | None,
    verdicts: Sequence[Verdict],
) -> str:
    faults = []
    if member is None:
        faults.append('is not alive')
    if row.forced_down:
        faults.append('is forced down')
    if row.disabled:
        faults.append('is disabled')
    if unreadable:
        faults.append(f'advertises settings unreadable here: {unreadable}')
    if admits is False:
        says = [v.says for v in verdicts if v.admits is False]
        faults.append(f'does not admit the node: {"; ".join(says)}')
    if faults:
        return ', '.join(faults)
    return 'admits the node' if admits else 'is alive and enabled'


def _verdict(
    policy: model.PolicySettings,
    node: model.Node | None,
    interpret: policy_set.Interpreter,
    unreadable: str,
) -> Verdict:
    alone = None
    if not unreadable:
        alone = interpret(model.MemberSettings((policy,)))
    if alone is None:
        return Verdict(policy, None, 'not readable here')
    if alone.assigner is not None:
        return Verdict(policy, None, 'assigns among its peers')
    if node is None:
        return Verdict(policy, None, 'not asked: Ironic has no such node')
    try:
        admits = alone.admits(node)
    except exceptions.PluginFaultError as exc:
        return Verdict(policy, None, str(exc))
    return Verdict(policy, admits, _says(alone.scope, node, admits))


def _says(scope: model.Scope, node: model.Node, admits: bool) -> str:
    wanted = [
        (what, wants, has)
        for what, wants, has in (
            ('shard', scope.shard, node.shard),
            (
                'conductor group',
                scope.conductor_group,
                node.conductor_group,
            ),
        )
        if wants is not None
    ]
    differing = [wish for wish in wanted if wish[1] != wish[2]]
    if admits:
        said = [f'{what} {wants!r}' for what, wants, _ in wanted]
        return f'admits {" and ".join(said) or "it"}'
    if not differing:
        return 'does not admit it'
    return ', '.join(
        f'wants {what} {wants!r}, the node has '
        + ('none' if has is None else repr(has))
        + (
            ' (only the case differs)'
            if has is not None and has.casefold() == wants.casefold()
            else ''
        )
        for what, wants, has in differing
    )
