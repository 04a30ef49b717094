"""``event list``: the history of nodes and services."""

from __future__ import annotations

import argparse
import datetime
from typing import ClassVar

from ironic_ownership.cli import base
from ironic_ownership.contracts import texts
from ironic_ownership.contracts.events import EventKind

_KINDS = 'kinds:\n' + '\n'.join(
    f'  {kind:<20}  {kind.help}' for kind in EventKind
)
_NOTES = f"""\
Times are those of the database's clock, but an age is counted by that of this
machine. An event of a service is one that happened to it, or to a node that
it lost or got: who fenced it, and why.

{_KINDS}"""


def _moment(text: str) -> str:
    """Return a date, a time or an age as a time with its offset."""
    age = texts.parse_duration(text)
    try:
        if age is None:
            at = texts.parse_moment(text)
        else:
            now = datetime.datetime.now(datetime.UTC)
            at = now - datetime.timedelta(seconds=age)
        return at.astimezone(datetime.UTC).isoformat()
    except (ValueError, OverflowError) as exc:
        raise argparse.ArgumentTypeError(
            f'{text!r} is neither a time such as 2025-01-31T22:00 nor an age '
            'such as 12h'
        ) from exc


class ListEvent(base.Lister):
    """List the history of nodes and services, newest first."""

    notes = _NOTES
    examples = (
        'event list --service rack1 --since 12h',
        'event list --kind service_died service_fenced --since 2d',
        'event list --node rack1-node7 --long',
        'event list --request-id req-... -f json',
        'event list --since 2025-01-31T22:00 --until 2025-02-01 --limit 1000',
    )
    nothing = 'No events'
    operation, limit = 'event:list', 100
    long = 'also show instance, request id and id'
    options: ClassVar = {
        'since': {
            'type': _moment,
            'help': 'only events at this time or later: 2025-01-31, '
            '2025-01-31T22:00, both UTC unless they have an offset, or an age '
            'such as 90m, 12h, 7d',
        },
        'until': {'type': _moment},
    }
