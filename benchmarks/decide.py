"""Decisions for many nodes and members: the engine against tooz's ring.

The peer is a loop over ``HashRing.get_nodes``, as in Nova. Its ring is built
before the measurement, ours during it. Both get the same nodes, in turn, in
one process. The figure is CPU time, for the first decision, without records,
and for the steady state, with a record for each node. Every owner has to be
the same.

    python -m benchmarks.decide [--nodes 100000] [--members 100] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import uuid as uuid_
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tooz import hashring

from benchmarks import table
from ironic_ownership import wiring
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups

TARGET = 0.2
_SETTINGS = model.MemberSettings(
    (model.PolicySettings.of('peer_list', {'peer_list': ()}),)
)

T = TypeVar('T')


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.decide',
        description='Decide nodes over members with the engine and tooz.',
    )
    parser.add_argument('--nodes', type=int, default=100_000)
    parser.add_argument('--members', type=int, default=100)
    parser.add_argument('--rounds', type=int, default=5)
    args = parser.parse_args(argv)
    rows = measure(args.nodes, args.members, args.rounds)
    if rows is None:
        print('decide: an owner differs from that of tooz')
        return 1
    return table.show(
        f'decide: CPU time against HashRing.get_nodes, median of '
        f'{args.rounds} rounds in turn',
        rows,
    )


def measure(count: int, members: int, rounds: int) -> list[table.Row] | None:
    """Measure both sides.

    :returns: ``None`` if the two do not agree about every node.
    """
    hosts = [f'compute-{number}' for number in range(members)]
    nodes = [
        model.Node(str(uuid_.uuid4()), driver='fake-hardware')
        for _ in range(count)
    ]
    ring = hashring.HashRing(hosts, hash_function='md5')
    first, steady, peer = [], [], []
    records: dict[str, model.ComputeNode] = {}
    for _ in range(rounds):
        seconds, decided = _timed(lambda: _decide(hosts, nodes, {}))
        first.append(seconds)
        seconds, owners = _timed(lambda: _tooz(ring, nodes))
        peer.append(seconds)
        records.update(
            (uuid, model.ComputeNode(uuid, owner))
            for uuid, owner in owners.items()
        )
        seconds, again = _timed(lambda: _decide(hosts, nodes, records))
        steady.append(seconds)
        for decisions in (decided, again):
            if {u: d.owner for u, d in decisions.items()} != owners:
                return None
    theirs = statistics.median(peer)
    what = f'{count} nodes, {members} members'
    return [
        table.Row(
            f'{what}, first', statistics.median(first), theirs, 's', TARGET
        ),
        table.Row(
            f'{what}, steady', statistics.median(steady), theirs, 's', TARGET
        ),
    ]


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _decide(
    hosts: Sequence[str],
    nodes: Sequence[model.Node],
    records: Mapping[str, model.ComputeNode],
) -> decide.Decisions:
    view = model.View.of(
        model.Member(host, host, settings=_SETTINGS) for host in hosts
    )
    services = PeerGroups.of(view, (), wiring.interpret)
    return decide.decide(nodes, records, services)


def _tooz(
    ring: hashring.HashRing, nodes: Sequence[model.Node]
) -> dict[str, str]:
    return {
        node.uuid: next(iter(ring.get_nodes(node.uuid.encode())))
        for node in nodes
    }


if __name__ == '__main__':
    sys.exit(main())
