"""The page of one service: its processes and loops, what may be done now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import flask

from ironic_ownership_console import actions, options, pages

SERVICE = flask.Blueprint('one_service', __name__)


@SERVICE.get('/services/<host>')
def page(host: str) -> str:
    """Show one service."""
    shown = pages.read(pages.quoted('/v1/services/{}', host))
    members, _ = pages.attempt('/v1/members')
    found, events = [], None
    # The part that is redrawn has none of them.
    if not flask.request.headers.get('HX-Request'):
        found = [*_options(shown)]
        events, _ = pages.attempt('/v1/events', service=host, limit=20)
    return flask.render_template(
        'service.html',
        shown=shown,
        members=[
            one
            for one in (members or {'members': []})['members']
            if one['host'] == shown['host']
        ],
        options=found,
        events=(events or {'events': []})['events'],
    )


def _options(shown: Mapping[str, Any]) -> Iterator[options.Option]:
    host = shown['host']
    if 'drain' in flask.request.args:
        yield options.propose('Drain', 'drain', host)
    else:
        note = actions.BY_NAME['drain'].note
        yield options.Option('Drain', 'drain', note, is_read=False)
    yield options.propose('Fail over', 'failover', host)
    name = 'enable' if shown['status'] == 'disabled' else 'disable'
    yield options.propose(name.capitalize(), name, host)
    if shown['forced_down']:
        yield options.propose('Let it come up', 'up', host)
    else:
        yield options.propose('Force down', 'down', host)
    yield options.propose('Delete', 'delete-service', host)
