"""What to say about a decision: the rule in a sentence, and what helps.

Pure; one entry for each reason code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from ironic_ownership.contracts import availability, model
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine.reservations import eligibility

if TYPE_CHECKING:
    from ironic_ownership.engine.queries import explanation

_PROGRAM = 'ironic-ownership'

_RULES: Mapping[Reason, str] = {
    Reason.EXCLUSIVE: '{wish} is the only live and enabled service whose '
    'policies admit the node',
    Reason.ASSIGNED: 'the assigner {assigner} of {live_peers} chose {wish}',
    Reason.ADOPTED: 'nobody owned the node when it was seen with an '
    'instance: the service that its policies give it to, {wish}, adopts it',
    Reason.INSTANCE_STAYS: 'the node has an instance, so it stays with '
    '{owner} until an operator moves it; the policies alone want {wish}',
    Reason.RECORD_KEEPS: 'the policies want {wish}, but the record names '
    '{owner}, and without a rebalancing assigner only an operator changes '
    'that',
    Reason.CONFLICT_FIRST: '{contenders} admit the node with one and the same '
    'filter: {wish} joined first and keeps it',
    Reason.CONTESTED_KEEPS: '{contenders} admit the node with different '
    'settings: {owner}, the owner on record, keeps it',
    Reason.CONTESTED_UNOWNED: '{contenders} admit the node with different '
    'settings, and nobody owns it: nobody claims it',
    Reason.UNASSIGNED: '{live_peers} admit the node, and their assigner '
    '{assigner} gives it to nobody',
    Reason.NOT_ADMITTED: 'no live and enabled service admits the node',
    Reason.FILTERED_KEEPS: 'no live and enabled service admits the node: the '
    'owner on record, {owner}, keeps it',
    Reason.NODE_GONE: 'Ironic answers 404 for the uuid, asked without any '
    'filter: only the record is left',
}


def rule(said: explanation.Explanation) -> str:
    """Return the rule that was applied, as a sentence with names."""
    decision = said.finding.decision
    return _RULES[reason(said)].format(
        owner=_owner(said) or 'nobody',
        wish=(said.wish.owner if said.wish else None) or 'nobody',
        assigner=said.assigner,
        live_peers=', '.join(said.live_peers),
        contenders=', '.join(decision.contenders if decision else ()),
    )


def advice(said: explanation.Explanation) -> Iterator[str]:
    """Yield what an operator could do, the most useful first."""
    found = [
        *_about_service(said),
        *_about_owner(said),
        *_ADVICE.get(reason(said), _none)(said),
    ]
    yield from found or _progress(said)


def reason(said: explanation.Explanation) -> Reason:
    """Return the reason code of what is explained."""
    decision = said.finding.decision
    return Reason.NODE_GONE if decision is None else decision.reason


def _owner(said: explanation.Explanation) -> str | None:
    return said.finding.record.host if said.finding.record else None


def _move(said: explanation.Explanation, host: str = 'HOST') -> str:
    return f'{_PROGRAM} compute node move {said.finding.uuid} --service {host}'


def _about_service(said: explanation.Explanation) -> Iterator[str]:
    """Speak of a node that nobody can work on."""
    verdict, node = said.finding.verdict, said.finding.node
    if node is None or verdict is None:
        return
    if verdict.code is availability.Unavailable.OUT_OF_SERVICE:
        yield (
            f'The node is out of service ({verdict.detail}): '
            f'{_PROGRAM} compute node check-action {node.uuid} names the '
            'conductors that are needed'
        )


def _about_owner(said: explanation.Explanation) -> Iterator[str]:
    """Speak of an owner that should keep the node and cannot serve it."""
    host, decision = _owner(said), said.finding.decision
    if host is None or decision is None or decision.owner != host:
        return
    if not said.finding.owner_alive:
        forced = said.owner is not None and said.owner.forced_down
        state = 'is forced down' if forced else 'is not alive'
        target = said.wish.owner if said.wish else None
        yield (
            f'{host} {state}: bring it back, or, once it is really stopped, '
            f'move the node: {_move(said, target or "HOST")}'
        )


def _progress(said: explanation.Explanation) -> Iterator[str]:
    owner, finding = _owner(said), said.finding
    decided = finding.decision.owner if finding.decision else None
    if owner == decided:
        yield 'Nothing to do'
    elif owner is None:
        yield f'Wait: {decided} claims it at its next refresh'
    elif finding.owner_alive:
        yield (
            f'Wait: {owner} releases it at its next refresh'
            + (f', then {decided} claims it' if decided else '')
        )
    else:
        yield f'Wait: {decided} takes it from {owner} at its next refresh'


def _stays(said: explanation.Explanation) -> Iterator[str]:
    if not said.finding.owner_alive:
        return
    wanted = said.wish.owner if said.wish else None
    if wanted is not None:
        yield (
            'Nothing has to be done; to follow the policies: '
            f'{_move(said, wanted)}'
        )
        return
    yield f'Nothing has to be done: {_owner(said)} goes on serving it'
    yield from _not_admitted(said)


def _keeps(said: explanation.Explanation) -> Iterator[str]:
    if said.finding.owner_alive:
        wanted = said.wish.owner if said.wish else None
        yield _move(said, wanted or 'HOST')


def _contested(said: explanation.Explanation) -> Iterator[str]:
    decision = said.finding.decision
    hosts = ', '.join(decision.contenders if decision else ())
    yield (
        f'Give {hosts} the same [ownership] policies and options, or filters '
        f'that do not overlap; "{_PROGRAM} check" shows how they differ'
    )


def _conflict(said: explanation.Explanation) -> Iterator[str]:
    decision = said.finding.decision
    hosts = ', '.join(decision.contenders if decision else ())
    yield (
        f'Stop all of {hosts} but one, or give each a filter of its own, '
        'such as [ironic] shard_key'
    )
    yield from _progress(said)


def _unassigned(said: explanation.Explanation) -> Iterator[str]:
    if said.assigner == eligibility.POLICY:
        yield (
            'Nothing has to be done; to have it owned, reserve it: '
            f'{_PROGRAM} reservation create --node {said.finding.uuid} '
            '--instance UUID --service HOST'
        )
        return
    yield f'Ask the policy {said.assigner} for it, as its documentation says'


def _not_admitted(said: explanation.Explanation) -> Iterator[str]:
    """Name who would admit the node, or what would have to be changed."""
    willing = [c for c in said.candidates if c.admits and not c.considered]
    for candidate in willing:
        yield f'{candidate.host} would admit the node, but it {candidate.why}'
    for candidate in said.candidates:
        if not candidate.readable:
            yield (
                f'{candidate.host} may admit the node; look from a machine '
                'where its policies are installed'
            )
    if not willing:
        yield from _change_node(said)


def _change_node(said: explanation.Explanation) -> Iterator[str]:
    node = said.finding.node
    if node is None:
        return
    shard = '' if node.shard is None else f'shard_key = {node.shard} and '
    group = node.conductor_group or '""'
    yield f'Start a service with [ironic] {shard}conductor_group = {group}'
    nearest = _nearest(said, node)
    if nearest is not None:
        host, options = nearest
        yield (
            f'Or give the node to {host}: openstack baremetal node set '
            f'{node.uuid} {options}'
        )


def _nearest(
    said: explanation.Explanation, node: model.Node
) -> tuple[str, str] | None:
    """Return the live service that needs the least change of the node."""
    found = []
    for candidate in said.candidates:
        scope = candidate.scope
        if scope is None or not candidate.eligible:
            continue
        changes = [
            (option, wanted, has or '')
            for option, wanted, has in (
                ('--shard', scope.shard, node.shard),
                (
                    '--conductor-group',
                    scope.conductor_group,
                    node.conductor_group,
                ),
            )
            if wanted is not None and wanted != has
        ]
        # An empty group is no value that the command takes.
        if changes and all(wanted for _, wanted, _ in changes):
            distance = sum(
                1 if wanted.casefold() == has.casefold() else 2
                for _, wanted, has in changes
            )
            options = ' '.join(f'{o} {wanted}' for o, wanted, _ in changes)
            found.append((distance, candidate.host, options))
    return min(found)[1:] if found else None


def _gone(said: explanation.Explanation) -> Iterator[str]:
    record = said.finding.record
    if record is not None and record.instance_uuid is not None:
        yield (
            f'An instance, {record.instance_uuid}, is still recorded: make '
            'sure that it is really gone'
        )
    if said.finding.owner_alive:
        yield f'{_owner(said)} deletes a record without an instance by itself'
    else:
        yield f'{_PROGRAM} compute node delete {said.finding.uuid}'


def _none(said: explanation.Explanation) -> Iterator[str]:
    return iter(())


_ADVICE: Mapping[
    Reason, Callable[[explanation.Explanation], Iterator[str]]
] = {
    Reason.INSTANCE_STAYS: _stays,
    Reason.RECORD_KEEPS: _keeps,
    Reason.CONFLICT_FIRST: _conflict,
    Reason.CONTESTED_KEEPS: _contested,
    Reason.CONTESTED_UNOWNED: _contested,
    Reason.UNASSIGNED: _unassigned,
    Reason.NOT_ADMITTED: _not_admitted,
    Reason.FILTERED_KEEPS: _not_admitted,
    Reason.NODE_GONE: _gone,
}
