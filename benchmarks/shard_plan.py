"""Plans of shards for many nodes: time, memory, and moves.

The peer of the time is the target of the product; that of the moves is the
number without which no plan has the same shares. The first plan has every node
for itself, in a deployment that grew from one shard to all of them. The second
keeps whole racks together, the third joins racks that are torn apart, and the
fourth spreads each rack over all shards, which most nodes have to move for.

    python -m benchmarks.shard_plan [--nodes 100000] [--shards 200]
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Sequence

from benchmarks import table
from ironic_ownership.engine.changes.shard_plan import PlanNode, plan

SECONDS = 30.0
"""The longest time for a plan."""

MEMORY = 500.0
"""The largest memory, in MiB."""

RACK = 40
"""Nodes of one rack."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.shard_plan',
        description='Plan the shards of many nodes.',
    )
    parser.add_argument('--nodes', type=int, default=100_000)
    parser.add_argument('--shards', type=int, default=200)
    args = parser.parse_args(argv)
    rows: list[table.Row] = []
    shards = [f'shard{number:04}' for number in range(args.shards)]
    for name in ('each node', 'whole racks', 'torn racks', 'spread racks'):
        rows += _measure(name, _nodes(name, args.nodes, shards), shards)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    memory = 'memory of the process, with its input'
    rows.append(table.Row(memory, peak, MEMORY, 'MiB', 1.0))
    return table.show(
        f'shard_plan: {args.nodes} nodes, {args.shards} shards', rows
    )


def _nodes(name: str, count: int, shards: Sequence[str]) -> list[PlanNode]:
    chance = random.Random(1)
    everywhere = frozenset(shards)
    size = 1 if name in ('each node', 'torn racks') else RACK
    homes = [
        shards[chance.randrange(chance.randint(1, len(shards)))]
        for _ in range(count // size + 1)
    ]
    return [
        PlanNode(
            f'{number:08}',
            homes[number // size],
            everywhere,
            together=(
                (f'rack{number // RACK}',)
                if name in ('whole racks', 'torn racks')
                else ()
            ),
            spread=f'rack{number // RACK}' if name == 'spread racks' else '',
        )
        for number in range(count)
    ]


def _measure(
    name: str, nodes: Sequence[PlanNode], shards: Sequence[str]
) -> list[table.Row]:
    weights = dict.fromkeys(shards, 1)
    started = time.process_time()
    found = plan(nodes, weights)
    taken = time.process_time() - started
    # Torn racks have to be joined, which the shares do not show.
    exact = name in ('each node', 'spread racks')
    return [
        table.Row(f'{name}: time', taken, SECONDS, 's', 1.0),
        table.Row(
            f'{name}: moves, against those needed',
            len(found.moves),
            max(found.needed, 1),
            'nodes',
            1.0 if exact else float('inf'),
        ),
    ]


if __name__ == '__main__':
    sys.exit(main())
