"""The page of one node: its chain, its owners in time, what may be done."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import flask

from ironic_ownership_console import pages
from ironic_ownership_console.options import Option, ask

NODE = flask.Blueprint('node', __name__)
_OWNERS = (
    'owner_changed',
    'node_moved',
    'node_handed_over',
    'node_forgotten',
    'node_reserved',
    'node_released',
)
"""Kinds of events that give a node another owner, or none."""

_COLOURS = 6


@dataclasses.dataclass(frozen=True)
class Span:
    """A time in which a node had one owner.

    :param since: seconds since the epoch, like ``until``.
    :param colour: number of the owner's colour; 0 without an owner.
    :param x: where it begins, in thousandths of the whole time.
    """

    host: str | None
    since: float
    until: float
    colour: int = 0
    x: float = 0.0
    width: float = 0.0


def spans(events: Sequence[Mapping[str, Any]], now: float) -> list[Span]:
    """Return the owners of a node, the first one first.

    :param events: of :data:`_OWNERS`, the newest first.
    """
    found: list[Span] = []
    for event in reversed(events):
        at = datetime.datetime.fromisoformat(event['at']).timestamp()
        host = event['to_host']
        if found:
            found[-1] = dataclasses.replace(found[-1], until=at)
        if not found or found[-1].host != host:
            found.append(Span(host, at, at))
    if not found:
        return []
    # The clock of the database may be ahead of that of the console.
    found[-1] = dataclasses.replace(found[-1], until=max(now, found[-1].until))
    return _drawn(found)


def _drawn(found: Sequence[Span]) -> list[Span]:
    first = found[0].since
    scale = 1000 / ((found[-1].until - first) or 1)
    hosts = [*dict.fromkeys(one.host for one in found if one.host)]
    return [
        dataclasses.replace(
            one,
            colour=hosts.index(one.host) % _COLOURS + 1 if one.host else 0,
            x=(one.since - first) * scale,
            width=(one.until - one.since) * scale,
        )
        for one in found
    ]


@NODE.get('/nodes/<node>')
def page(node: str) -> str:
    """Show one node."""
    path = pages.quoted('/v1/compute-nodes/{}', node)
    shown, error = pages.attempt(path, events=50)
    chain, options, others, to = None, [], [], ''
    owners: list[Span] = []
    if error is None:
        chain, error = pages.attempt(f'{path}/explain')
        past, _ = pages.attempt(
            '/v1/events', node=shown['uuid'], kind=_OWNERS, limit=100
        )
        now = datetime.datetime.now(datetime.UTC).timestamp()
        owners = spans((past or {'events': []})['events'], now)
    if chain is not None:
        others = [
            one['host']
            for one in sorted(chain['members'], key=_by_considered)
            if one['host'] != shown['service']
        ]
        to = _destination(chain, others)
        options = [*_options(shown['uuid'], chain, to)]
    return flask.render_template(
        'node.html',
        node=node,
        shown=shown,
        chain=chain,
        error=error,
        options=options,
        others=others,
        to=to,
        owners=owners,
    )


def _by_considered(member: Mapping[str, Any]) -> bool:
    return not member['considered']


def _destination(chain: Mapping[str, Any], others: Sequence[str]) -> str:
    """Return the service to which a move is proposed; empty without one."""
    wanted = (chain['policies_want'] or {}).get('service')
    for host in (flask.request.args.get('to'), wanted, *others):
        if host in others:
            return str(host)
    return ''


def _options(uuid: str, chain: Mapping[str, Any], to: str) -> Iterator[Option]:
    path = pages.quoted('/v1/compute-nodes/{}', uuid)
    yield ask('Its owner acts on it', '', 'POST', f'{path}/check-action')
    if to:
        yield ask(
            *(f'Move to {to}', 'move', 'POST', '/v1/moves'),
            {'select': {'uuids': [uuid]}, 'service': to, 'dry_run': True},
        )
    yield ask(
        *('Release', 'release', 'POST', '/v1/compute-nodes/release'),
        {'uuids': [uuid], 'dry_run': True},
    )
    # Its gates read all nodes of the owner, and a node in Ironic fails them.
    if chain['ironic'] is None or 'deletion' in flask.request.args:
        yield ask('Delete the record', 'delete', 'GET', f'{path}/check-delete')
