"""``shard plan``: even shares of the nodes, as shards in Ironic."""

from __future__ import annotations

import argparse
import collections
from collections.abc import Sequence
from typing import Any, ClassVar

from ironic_ownership.api import schemas
from ironic_ownership.api.resources import shards
from ironic_ownership.cli import base
from ironic_ownership.cli.move_command import OPTIONS, MoveCommand, Row
from ironic_ownership.contracts import texts


def _weight(text: str) -> tuple[str, float]:
    host, _, number = text.partition('=')
    try:
        weight = float(number)
    except ValueError:
        weight = -1.0
    if not host or not 0 <= weight <= 1000:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not HOST=NUMBER, with a number from 0 to 1000'
        )
    return host.strip().lower(), weight


class PlanShard(MoveCommand):
    """Plan shards: even shares of the nodes with the fewest moves.

    The live and enabled services that select a shard key get shares of the
    nodes in their shards, and of the nodes without a shard. Without --apply
    nothing changes. With it, the shards are set in Ironic, and records and
    instances move to the services of the new shards, in batches. The plan is
    on standard output; the shares and the number of moves are on standard
    error. An interrupted plan is finished by "move resume" for each of its
    moves, or by the same command again.
    """

    operation = 'shard:plan'
    flags: ClassVar = {'--apply': 'carry the plan out'}
    plan, node = shards.PLAN, shards.NODE
    keys = (*schemas.keys(shards.NODE), 'gates (without --apply)')
    options: ClassVar = {
        **OPTIONS,
        'weights': {
            'flag': '--weight',
            'action': 'append',
            'type': _weight,
            'metavar': 'HOST=NUMBER',
            'help': 'the weight of a service, 1 by default; 0 takes all nodes '
            'from it; may be repeated',
        },
        'together': {'metavar': 'FIELD'},
        'spread': {'metavar': 'FIELD'},
        'max_moves': {'metavar': 'NUMBER'},
    }
    examples = (
        'shard plan',
        'shard plan --weight rack2=2 --together properties.rack -f csv',
        'shard plan --max-moves 500 --apply --yes',
        'shard plan --apply --trial 2 --yes',
        'shard plan --weight rack1=0 --apply --yes',
    )

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        given = super().body(parsed_args)
        if parsed_args.weights:
            given['weights'] = dict(parsed_args.weights)
        for name in ('together', 'spread'):
            if name in given:
                given[name] = list(dict.fromkeys(given[name]))
        return given

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        # Nothing is changed unless it is asked for.
        parsed_args.dry_run = parsed_args.dry_run or not parsed_args.apply
        return super().take_action(parsed_args)

    def summarize(self, answer: Row) -> None:
        for share in answer['shares']:
            self.say(
                f'{share["shard"]}: {share["before"]} -> {share["after"]} '
                f'nodes, weight {share["weight"]:g}, '
                f'{", ".join(share["services"])}'
            )
        for note in answer['notes']:
            self.say(note)
        self.say(
            f'{texts.counted(answer["number"], "move")}; these shares need '
            f'at least {answer["needed"]}'
        )

    def question(self, planned: Sequence[Row]) -> str:
        numbers = collections.Counter(row['shard_after'] for row in planned)
        shown = ', '.join(f'{n} to {s}' for s, n in sorted(numbers.items()))
        return f'Set shards in Ironic, and move the nodes: {shown}'
