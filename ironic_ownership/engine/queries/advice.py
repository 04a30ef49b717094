"""Advice on a decision: the rule in one sentence, and actions that help.

Pure; one entry for each reason code.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.queries.explanation import (
    AWAY,
    Explanation,
    wanted,
)
from ironic_ownership.engine.reservations import eligibility

_PROGRAM = 'ironic-ownership'

_RULES: Mapping[Reason, str] = {
    Reason.EXCLUSIVE: '{preferred} is the only {service} whose policies admit '
    'the node',
    Reason.ASSIGNED: 'the assigner {assigner} chose {preferred} among '
    '{live_peers}',
    Reason.ADOPTED: 'the node had an instance when it was first seen and no '
    'service owned it: {preferred}, chosen by the policies, adopts it',
    Reason.RETURNED: 'the node got an instance while {former} released it: '
    'only {former} may claim it, until an operator moves it',
    Reason.INSTANCE_STAYS: 'the node has an instance and stays with {owner} '
    'until an operator moves it; the policies alone want {preferred}',
    Reason.RECORD_KEEPS: 'the policies want {preferred}, but the record names '
    '{owner}, and without a rebalancing assigner only an operator can change '
    'that',
    Reason.CONFLICT_FIRST: '{contenders} admit the node with the same filter: '
    '{preferred} joined first and keeps it',
    Reason.CONTESTED_KEEPS: '{contenders} admit the node with different '
    'settings: {owner}, the owner on record, keeps it',
    Reason.CONTESTED_UNOWNED: '{contenders} admit the node with different '
    'settings, so no service claims it',
    Reason.UNDECIDED: 'the policies of a service that may own the node fail, '
    'so nothing changes until they work again: {contenders}',
    Reason.UNASSIGNED: '{live_peers} {admit} the node, but {their} assigner '
    '{assigner} leaves it unowned',
    Reason.NOT_ADMITTED: 'no live, enabled service admits the node',
    Reason.FILTERED_KEEPS: 'no live, enabled service admits the node: the '
    'owner on record, {owner}, keeps it',
    Reason.NODE_GONE: 'Ironic answers 404 for the uuid, without any filter: '
    'only the record remains',
    Reason.BEING_DELETED: 'Ironic answers 404 for the uuid, without any '
    'filter: provider and record are being deleted',
}


_HELD = (
    f', unless an interrupted move holds it: {_PROGRAM} move list --unfinished'
)


def rule(explanation: Explanation) -> str:
    """Return the rule that was applied, as a sentence with names."""
    return _filled(_RULES[explanation.decision.reason], explanation)


def _filled(template: str, explanation: Explanation) -> str:
    is_one = len(explanation.live_peers) == 1
    return template.format(
        owner=explanation.status.owner or 'no service',
        preferred=explanation.preferred_owner or 'no service',
        service='live, enabled service'
        if explanation.is_live(explanation.preferred_owner)
        else 'enabled service, live or expected back,',
        assigner=explanation.assigner,
        live_peers=', '.join(explanation.live_peers),
        admit='admits' if is_one else 'admit',
        their='its' if is_one else 'their',
        former=explanation.status.released_by or 'its service',
        contenders=', '.join(explanation.decision.contenders),
    )


def advise(explanation: Explanation) -> Iterator[str]:
    """Yield what an operator can do, the most useful first."""
    row, status = explanation.owner, explanation.status
    found = [*_out_of_service(explanation), *_owner_down(explanation)]
    served = status.owner_alive and status.node and not status.decision.contest
    if served and row is not None and row.is_stock:
        found.append(f'Nothing to do: stock Nova serves it on {row.host}')
    else:
        found += _ADVICE.get(_reason(explanation), _text)(explanation)
    yield from found or _progress(explanation)


def _reason(explanation: Explanation) -> Reason:
    """Return the reason to see to: a contest, even of a node that stays."""
    decision, preferred = explanation.decision, explanation.preferred
    # To one service, and to no other.
    returned = decision.reason is Reason.RETURNED
    if decision.contest is None or preferred is None or returned:
        return decision.reason
    return preferred.reason


def _move(explanation: Explanation, host: str | None = None) -> str:
    to = host if explanation.is_live(host) else 'HOST'
    return f'{_PROGRAM} compute node move {explanation.status.uuid} --to {to}'


def _out_of_service(explanation: Explanation) -> Iterator[str]:
    status = explanation.status
    found = status.availability
    if found and status.is_out_of_service:
        yield (
            f'The node is out of service ({found.detail}). To see the '
            f'conductors that it needs: {_PROGRAM} compute node check-action '
            f'{status.uuid}'
        )


def _owner_down(explanation: Explanation) -> Iterator[str]:
    status, row = explanation.status, explanation.owner
    host = status.owner
    # No other service takes one that the policies leave unowned.
    if status.node is None or status.decision.owner not in (host, None):
        return
    if host is None or status.owner_alive:
        return
    move = _move(explanation, explanation.preferred_owner)
    down = f'{_PROGRAM} service set {host}'
    if row is None:
        yield f'{host} is not a service: start it, or move the node: {move}'
    elif row.forced_down:
        yield (
            f'{host} is forced down: {down} --up; or, if it has stopped: '
            f'{move}'
        )
    else:
        back = f'{AWAY}: wait for it'
        state = back if row.away else 'is not alive: start it again'
        yield (
            f'{host} {state}; or, if it has stopped for good: {down} --down, '
            f'and {move}'
        )


def _progress(explanation: Explanation) -> Iterator[str]:
    status = explanation.status
    owner, decided = status.owner, status.decision.owner
    refresh = when = 'at its next refresh'
    if explanation.paused and owner is not None:
        refresh = when = f'after the pause, see {_PROGRAM} pause list'
    elif not explanation.is_live(decided):
        when = 'once it is back'
    if owner == decided:
        yield 'Nothing to do'
    elif owner is None:
        if status.released_by is not None:
            when += _HELD
        yield f'Wait: {decided} claims it {when}'
    elif status.owner_alive:
        yield (
            f'Wait: {owner} releases it {refresh}'
            + (f', then {decided} claims it' if decided else '')
        )
    else:
        yield f'Wait: {decided} takes it from {owner} {when}'


def _stays(explanation: Explanation) -> Iterator[str]:
    status, preferred = explanation.status, explanation.preferred_owner
    if not status.owner_alive:
        return
    if explanation.is_live(preferred):
        yield (
            'Nothing to do; to follow the policies: '
            + suggestions.HAND_OVER.format(
                owner=status.owner, uuid=status.uuid, host=preferred
            )
        )
        return
    yield f'Nothing to do: {status.owner} continues to serve it'
    if preferred is None and explanation.assigner is None:
        yield from _not_admitted(explanation)


def _keeps(explanation: Explanation) -> Iterator[str]:
    host, uuid = explanation.preferred_owner, explanation.status.uuid
    if explanation.status.owner_alive:
        then = suggestions.RELEASE.format(uuid=uuid, host=host or 'no service')
        if host is not None and not explanation.is_live(host):
            then += ' once it is back'
        yield f'To follow the policies: {then}'


def _text(explanation: Explanation) -> Iterator[str]:
    reason = _reason(explanation)
    if reason in _TEXTS:
        yield _filled(_TEXTS[reason], explanation)
    if reason is Reason.CONFLICT_FIRST and explanation.status.owner is None:
        yield from _progress(explanation)


def _unassigned(explanation: Explanation) -> Iterator[str]:
    if explanation.status.owner is not None:
        return  # which is about to release it
    uuid, node = explanation.status.uuid, explanation.status.node
    if explanation.assigner != eligibility.POLICY:
        yield (
            f'See the documentation of the policy {explanation.assigner} for '
            'how it assigns nodes'
        )
    elif node is not None and node.instance_uuid is not None:
        yield (
            'To have a service own it, write the line '
            f'"{uuid},HOST" into FILE: {_PROGRAM} compute node import FILE'
        )
    else:
        yield (
            'Nothing to do; to have a service own it, reserve it: '
            f'{_PROGRAM} reservation create --node {uuid} '
            '--instance UUID --service HOST'
        )


def _not_admitted(explanation: Explanation) -> Iterator[str]:
    candidates = explanation.candidates
    willing = [c for c in candidates if c.admits and not c.considered]
    for candidate in willing:
        yield f'{candidate.host} would admit the node, but it {candidate.why}'
    for candidate in candidates:
        if not candidate.readable:
            yield (
                f'{candidate.host} may admit the node; run this command on a '
                'machine where its policies are installed'
            )
    if not willing and all(c.readable or not c.alive for c in candidates):
        yield from _change_node(explanation)


def _change_node(explanation: Explanation) -> Iterator[str]:
    node = explanation.status.node
    if node is None:
        return
    shard = '' if node.shard is None else f'shard_key = {node.shard} and '
    group = node.conductor_group or '""'
    scopes = [
        c.scope for c in explanation.candidates if c.eligible and c.scope
    ]
    if not shard and any(scope.shard for scope in scopes):
        yield (
            f'Give it a shard: openstack baremetal node set {node.uuid} '
            '--shard SHARD. A service without a shard key would admit the '
            'nodes of all shards'
        )
    else:
        yield f'Start a service with [ironic] {shard}conductor_group = {group}'
    nearest = _nearest(explanation, node)
    if nearest is not None:
        host, options = nearest
        yield (
            f'Or give the node to {host}: openstack baremetal node set '
            f'{node.uuid} {options}'
        )


def _nearest(
    explanation: Explanation, node: model.Node
) -> tuple[str, str] | None:
    found = []
    for candidate in explanation.candidates:
        scope = candidate.scope
        if scope is None or not candidate.eligible:
            continue
        changes = [
            (f'--{what.replace(" ", "-")}', wants, has or '')
            for what, wants, has in wanted(scope, node)
            if wants != has
        ]
        # The command does not accept an empty group.
        if changes and all(wants for _, wants, _ in changes):
            distance = sum(
                1 if wants.casefold() == has.casefold() else 2
                for _, wants, has in changes
            )
            options = ' '.join(
                f'{option} {shlex.quote(wants)}'
                for option, wants, _ in changes
            )
            found.append((distance, candidate.host, options))
    return min(found)[1:] if found else None


def _gone(explanation: Explanation) -> Iterator[str]:
    status = explanation.status
    if status.record is not None and status.record.instance_uuid is not None:
        yield (
            f'The instance {status.record.instance_uuid} is still on record. '
            f'If it no longer exists: {_PROGRAM} instance forget '
            f'{status.uuid} --reason TEXT'
        )
    row = explanation.owner
    if status.owner_alive and not (row and row.is_stock):
        yield (
            f'{status.owner} deletes records without an instance automatically'
        )
    else:
        yield f'{_PROGRAM} compute node delete {status.uuid}'


def _returned(explanation: Explanation) -> Iterator[str]:
    if explanation.decision.owner is None:
        start = _filled(
            'Start {former} again: it claims the node', explanation
        )
        yield f'{start}{_HELD}'
        # It was released without the instance, which no owner recorded since.
        yield (
            f'{_move(explanation, explanation.decision.wanted_by)} '
            '--override instance_agrees --reason TEXT'
        )


_CONTESTED = (
    'Give {contenders} filters that do not overlap, such as a shard_key each; '
    'or, without a shard key, the same [ownership] policies and options: '
    '"ironic-ownership check" shows how they differ'
)
_TEXTS: Mapping[Reason, str] = {
    Reason.CONFLICT_FIRST: 'Stop all of {contenders} but one, or give each '
    'its own filter, such as a [ironic] shard_key of its own',
    Reason.CONTESTED_UNOWNED: _CONTESTED,
    Reason.UNDECIDED: 'Repair the package that fails, or stop the service '
    'that runs it. Possibly concerned: {contenders}',
}
_ADVICE: Mapping[Reason, Callable[[Explanation], Iterator[str]]] = {
    Reason.RETURNED: _returned,
    Reason.INSTANCE_STAYS: _stays,
    Reason.RECORD_KEEPS: _keeps,
    Reason.UNASSIGNED: _unassigned,
    Reason.NOT_ADMITTED: _not_admitted,
    Reason.FILTERED_KEEPS: _not_admitted,
    Reason.NODE_GONE: _gone,
    Reason.BEING_DELETED: _gone,
}
