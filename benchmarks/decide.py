"""Decisions for many nodes and members: the engine against tooz's ring.

The peer is a loop over ``HashRing.get_nodes``, as in Nova. Its ring is built
before the measurement, ours during it. Both get the same nodes, in turn, in
one process. The figure is CPU time: for the first decision, without records,
for the steady state, with a record for each node, a third of them with an
instance, and for the preview of the loss of a member, which the peer finds by
two rings. Every owner and every move has to be the same.

    python -m benchmarks.decide [--nodes 100000] [--members 100] [--rounds 5]
"""

from __future__ import annotations

import argparse
import collections
import statistics
import sys
import uuid as uuid_
from collections.abc import Mapping, Sequence

from tooz import hashring

from benchmarks import table
from ironic_ownership import wiring
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import decide, what_if

TARGET, PREVIEW = 0.2, 0.5
LIMIT = 1.0
"""Seconds for a preview."""

_SETTINGS = model.MemberSettings(
    (model.PolicySettings.of('peer_list', {'peer_list': ()}),)
)

_Ways = Mapping[tuple[str | None, str | None], int]


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
        print('decide: an owner or a move differs from that of tooz')
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
    rings = [
        hashring.HashRing(of, hash_function='md5') for of in (hosts, hosts[1:])
    ]
    now = what_if.Situation(
        model.View.of(
            model.Member(host, host, settings=_SETTINGS) for host in hosts
        ),
        [model.Service(host, 1, settings=_SETTINGS) for host in hosts],
    )
    times: dict[str, list[float]] = collections.defaultdict(list)
    records: dict[str, model.ComputeNode] = {}
    for _ in range(rounds):
        seconds, decided = table.timed(lambda: _decide(now, nodes, {}))
        times['first'].append(seconds)
        seconds, owners = table.timed(lambda: _tooz(rings[0], nodes))
        times['peer'].append(seconds)
        for number, (uuid, owner) in enumerate(owners.items()):
            instance = None if number % 3 else f'instance-{number}'
            records[uuid] = model.ComputeNode(uuid, owner, instance)
        seconds, again = table.timed(lambda: _decide(now, nodes, records))
        times['steady'].append(seconds)
        seconds, ways = table.timed(
            lambda: _preview(now, hosts[0], nodes, records)
        )
        times['preview'].append(seconds)
        seconds, naive = table.timed(lambda: _naive(rings, nodes, records))
        times['naive'].append(seconds)
        for decisions in (decided, again):
            if {u: d.owner for u, d in decisions.items()} != owners:
                return None
        if ways != naive:
            return None
    found = {name: statistics.median(some) for name, some in times.items()}
    what = f'{count} nodes, {members} members'
    return [
        table.Row(f'{what}, {name}', found[name], found[peer], 's', target)
        for name, peer, target in (
            ('first', 'peer', TARGET),
            ('steady', 'peer', TARGET),
            ('preview', 'naive', PREVIEW),
        )
    ] + [
        table.Row(
            f'{what}, preview, against {LIMIT:g} s',
            *(found['preview'], LIMIT),
            unit='s',
            target=1.0,
        )
    ]


def _decide(
    now: what_if.Situation,
    nodes: Sequence[model.Node],
    records: Mapping[str, model.ComputeNode],
) -> decide.Decisions:
    return decide.decide(nodes, records, now.peer_groups(wiring.interpret))


def _tooz(
    ring: hashring.HashRing, nodes: Sequence[model.Node]
) -> dict[str, str]:
    return {
        node.uuid: next(iter(ring.get_nodes(node.uuid.encode())))
        for node in nodes
    }


def _preview(
    now: what_if.Situation,
    lost: str,
    nodes: Sequence[model.Node],
    records: Mapping[str, model.ComputeNode],
) -> _Ways:
    found = what_if.compare(
        nodes,
        records,
        now.peer_groups(wiring.interpret),
        now.without([lost]).peer_groups(wiring.interpret),
    )
    return {(flow.before, flow.after): flow.nodes for flow in found.flows()}


def _naive(
    rings: Sequence[hashring.HashRing],
    nodes: Sequence[model.Node],
    records: Mapping[str, model.ComputeNode],
) -> _Ways:
    before, after = (_tooz(ring, nodes) for ring in rings)
    return collections.Counter(
        (before[uuid], after[uuid])
        for uuid in before
        if before[uuid] != after[uuid] and records[uuid].instance_uuid is None
    )


if __name__ == '__main__':
    sys.exit(main())
