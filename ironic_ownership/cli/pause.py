"""``pause``, ``pause list``, ``resume``: hold owners during planned work."""

from __future__ import annotations

import argparse
from typing import Any, ClassVar

from ironic_ownership.api.resources.pauses import DAY, LONGEST
from ironic_ownership.cli import arguments, base, change, errors
from ironic_ownership.cli.change import Body
from ironic_ownership.contracts import texts


def _seconds(text: str) -> int:
    seconds = texts.parse_duration(text)
    if not seconds:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a duration such as 90m, 2h or 1d'
        )
    return seconds


class ListPause(base.Lister):
    """List the pauses in force."""

    operation, limit = 'pause:list', 100
    nothing = 'No pause: owners change automatically.'
    examples = ('pause list', 'pause list -f json')


class BeginPause(change.ChangeOne):
    """Pause automatic changes of owner, for planned work.

    When the command returns, no node in the scope changes owner any more
    until the pause ends or you run "resume": no free node of a dead service
    is taken over, and none follows a hash ring. Your own moves go on, and a
    node without an owner gets one. A service that dies is still noticed, and
    its own processes still stop acting.
    """

    operation = 'pause:begin'
    options: ClassVar = {
        'seconds': {
            'flag': '--for',
            'type': _seconds,
            'metavar': 'DURATION',
            'help': 'how long: 90m, 2h, 1d; at most a day without --force',
        },
        'shard': {'type': arguments.shard},
        'conductor_group': {'metavar': 'GROUP'},
    }
    examples = (
        'pause --for 2h --reason "upgrade of the switches" --yes',
        'pause --for 30m --conductor-group rack-a --reason "new cables"',
    )

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        if parsed_args.seconds > DAY and not parsed_args.force:
            raise errors.UsageError(
                'the pause is longer than a day',
                hint='Shorten it, or add --force: meanwhile no free node of a '
                'dead service gets another owner',
            )
        if parsed_args.seconds > LONGEST:
            raise errors.UsageError(
                f'the pause is longer than {LONGEST // DAY} days'
            )
        return super().body(parsed_args)

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        return f'pause automatic changes of owner until {proposal["ends_at"]}'


class EndPause(change.ChangeCommand, base.Lister):
    """Resume automatic changes of owner: end all pauses, or one."""

    operation, nothing = 'pause:end', ListPause.nothing
    examples = ('resume --yes', 'resume --pause req-...')

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        found = proposal['pauses']
        return 'resume automatic changes of owner' if found else ''
