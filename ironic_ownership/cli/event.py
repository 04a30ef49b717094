"""``event list``: the history of nodes and services."""

from __future__ import annotations

import argparse
import datetime
import re

from ironic_ownership.api.resources import events
from ironic_ownership.cli import base
from ironic_ownership.contracts.events import EventKind
from ironic_ownership.observe import columns

_AGE = re.compile(r'(\d{1,9})([smhdw])', re.ASCII)
_SECONDS = {'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}
_KINDS = 'kinds:\n' + '\n'.join(
    f'  {kind:<20}  {kind.help}' for kind in EventKind
)
_NOTES = f"""\
Times are those of the database's clock. An event of a service is one that
happened to it, or to a node that it lost or got: who fenced it, and why.

{_KINDS}"""


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

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add = parser.add_argument
        add(
            '--service',
            metavar='HOST',
            help='only events of this service, or of nodes that it lost or '
            'got; case does not count',
        )
        add(
            '--node',
            metavar='UUID|NAME',
            help='only events of this node; a deleted one by its uuid',
        )
        add(
            '--kind',
            nargs='+',
            action='extend',
            choices=[kind.value for kind in EventKind],
            metavar='KIND',
            help='only events of one of these kinds, listed below; may be '
            'repeated',
        )
        add(
            '--since',
            type=_moment,
            metavar='TIME',
            help='only events at this time or later: 2025-01-31, '
            '2025-01-31T22:00, both UTC unless they have an offset, or an age '
            'such as 90m, 12h, 7d',
        )
        add(
            '--until',
            type=_moment,
            metavar='TIME',
            help='only events before this time',
        )
        add(
            '--actor',
            metavar='ACTOR',
            help='only events of this service or user, exactly as shown',
        )
        add(
            '--request-id',
            metavar='ID',
            help="only events of one operator's request; a move has its own",
        )
        add(
            '--limit',
            type=_count,
            default=100,
            metavar='N',
            help='the maximum number of events (default: 100)',
        )
        add(
            '--long',
            action='store_true',
            help='also show instance, request id and id',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        body = self.api.call(
            'event:list',
            query={
                name: getattr(parsed_args, name)
                for name in (
                    *('service', 'node', 'kind', 'since', 'until'),
                    *('actor', 'request_id', 'limit'),
                )
            },
        )
        shown = events.LONG if parsed_args.long else events.SHORT
        return self.rows(shown, body['events'])


def _moment(text: str) -> str:
    """Return a date, a time or an age as a time with its offset."""
    age = _AGE.fullmatch(text)
    try:
        if age:
            at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(
                seconds=int(age[1]) * _SECONDS[age[2]]
            )
        else:
            at = columns.parse_moment(text)
        return at.astimezone(datetime.UTC).isoformat()
    except (ValueError, OverflowError) as exc:
        raise argparse.ArgumentTypeError(
            f'{text!r} is neither a time such as 2025-01-31T22:00 nor an age '
            'such as 12h'
        ) from exc


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 1_000_000:
        raise argparse.ArgumentTypeError(f'{text} is not in 1 to 1000000')
    return number
