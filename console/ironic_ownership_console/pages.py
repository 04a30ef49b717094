"""The pages that only show something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import flask

from ironic_ownership_console import fleet
from ironic_ownership_console.service import Service, ServiceError

PAGES = flask.Blueprint('pages', __name__)
_PAGE = 100
COUNTS = (
    ('unowned', 'Unowned'),
    ('owned_twice', 'Owned twice'),
    ('drifted', 'Drifted'),
    ('without_live_owner', 'No live owner'),
    ('waiting', 'Waiting'),
)
_SENTENCES = {
    'ok': 'Every node has exactly one live owner.',
    'warning': 'Something needs your attention.',
    'unknown': 'Not everything could be read.',
    'error': 'Some nodes may not be served.',
}


def service() -> Service:
    """Return the client of the HTTP service."""
    return cast(Service, flask.current_app.extensions['service'])


def read(path: str, **query: Any) -> Any:
    """Read a resource as the person who has signed in."""
    return service().get(flask.g.session.token, path, **query)


def quoted(path: str, *names: str) -> str:
    """Return a path with names in it, each as one segment."""
    from urllib.parse import quote

    return path.format(*(quote(name, safe='') for name in names))


def call(method: str, path: str, **more: Any) -> Any:
    """Send a request as the person who has signed in."""
    return service().call(flask.g.session.token, method, path, **more)


def attempt(
    *given: Any, send: Callable[..., Any] = read, **more: Any
) -> tuple[Any, ServiceError | None]:
    """Send a request for a part of a page, which may fail alone."""
    try:
        return send(*given, **more), None
    except ServiceError as exc:
        if exc.status == 401:
            raise
        return None, exc


def hosts() -> list[str]:
    """Return the names of all services."""
    found = service().pages(flask.g.session.token, '/v1/services', 'services')
    return [one['host'] for page in found for one in page]


def _snapshot() -> tuple[fleet.Snapshot, fleet.Fleet]:
    kept: fleet.Fleet = flask.current_app.extensions['fleet']
    return kept.read(flask.g.session.token), kept


def _arguments(*names: str) -> dict[str, Any]:
    return {name: flask.request.args.get(name, '') for name in names}


def _grouping() -> str:
    found = flask.request.args.get('by', '')
    return found if found in fleet.GROUPINGS else 'service'


@PAGES.get('/')
def overview() -> str:
    """Show whether all is well, the services and the map."""
    found = read('/v1/overview')
    grouping = _grouping()
    return flask.render_template(
        'overview.html',
        found=found,
        sentence=_SENTENCES[found['state']],
        counts=COUNTS,
        grouping=grouping,
    )


@PAGES.get('/fleet')
def fleet_table() -> str:
    """Show the map as a table, for those without its script."""
    grouping = _grouping()
    snapshot, kept = _snapshot()
    return flask.render_template(
        'fleet.html',
        rows=snapshot.counts(grouping),
        age=kept.age(snapshot),
        grouping=grouping,
    )


@PAGES.get('/fleet.json')
def fleet_data() -> flask.Response:
    """Send all nodes to the script of the map."""
    snapshot, kept = _snapshot()
    return flask.jsonify(snapshot.packed(kept.age(snapshot)))


@PAGES.get('/nodes')
def nodes() -> str:
    """Search nodes; the filters are in the address."""
    given = _arguments('q', 'service', 'shard', 'conductor_group', 'square')
    text = flask.request.args.get('page', '1')
    page = int(text) if text.isdecimal() and 0 < len(text) < 6 else 1
    snapshot, kept = _snapshot()
    text = given.pop('q')
    found = snapshot.select(text, **given)
    choices = {
        key: sorted({node[key] for node in snapshot.nodes if node[key]})
        for key in fleet.GROUPINGS
    }
    first = (max(page, 1) - 1) * _PAGE
    return flask.render_template(
        'nodes.html',
        nodes=found[first : first + _PAGE],
        total=len(found),
        first=first,
        page=page,
        more=len(found) > first + _PAGE,
        age=kept.age(snapshot),
        q=text,
        given=given,
        choices=choices,
        words=dict(fleet.STATES),
    )


@PAGES.get('/services')
def services() -> str:
    """Show all services with their shares."""
    return flask.render_template('services.html', found=read('/v1/overview'))


@PAGES.get('/what-if')
def what_if() -> str:
    """Show what another service, or another policy, would move."""
    given = _arguments('without', 'with', 'like')
    lists = _arguments('a', 'b', 'options')
    result, error = None, None
    if given['without'] or given['with']:
        result, error = attempt('/v1/rings/preview', **given)
    elif lists['b']:
        body = {**lists, 'options': lists['options'].split()}
        compare = ('POST', '/v1/policies/compare')
        result, error = attempt(*compare, send=call, body=body)
    members, _ = attempt('/v1/members')
    return flask.render_template(
        'what_if.html',
        given=given,
        lists=lists,
        result=result,
        error=error,
        hosts=hosts(),
        policies=sorted(
            {
                ','.join(one['policies'])
                for one in (members or {'members': []})['members']
            }
        ),
    )


@PAGES.get('/moves')
def moves() -> str:
    """Show the moves of operators."""
    given = _arguments('marker')
    return flask.render_template(
        'moves.html', found=read('/v1/moves', limit=50, **given)
    )


@PAGES.get('/moves/<request_id>')
def move(request_id: str) -> str:
    """Show one move and its progress."""
    found = read(quoted('/v1/moves/{}', request_id))
    return flask.render_template('move.html', move=found)


@PAGES.get('/events')
def events() -> str:
    """Show who did what, and when."""
    given = _arguments(
        *('service', 'node', 'actor', 'kind'),
        *('since', 'until', 'request_id'),
    )
    marker = flask.request.args.get('marker')
    found, error = attempt('/v1/events', limit=100, marker=marker, **given)
    return flask.render_template(
        'events.html',
        found=found or {'events': [], 'next': None},
        error=error,
        given=given,
        kinds=_kinds(),
    )


def _kinds() -> list[str]:
    """Return the kinds of events that the HTTP service knows."""
    listing = read('/openapi.json')['paths']['/v1/events']['get']
    (kinds,) = [
        one['schema']['items']['enum']
        for one in listing['parameters']
        if one['name'] == 'kind'
    ]
    return sorted(kinds)
