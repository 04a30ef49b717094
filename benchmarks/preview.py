"""Preview of the loss of one of 100 members, with 100,000 nodes.

Ours decides twice, with records and instances, and sums the changes up. The
peer is the naive program: two loops over tooz's hash ring, one for the current
members and one for the remaining members, for every node without an instance.
Both run in this process, in turn, on one core, with the same nodes; the
results have to be equal.

    python -m benchmarks.preview [--nodes 100000] [--members 100]
"""

from __future__ import annotations

import argparse
import collections
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tooz import hashring

from benchmarks import table
from ironic_ownership import wiring
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import preview, scenario

LIMIT = 1.0
"""Seconds of CPU time for a preview."""

RATIO = 0.5
ROUNDS = 3
LOST = 'host-000'

_Ways = Mapping[tuple[str, str], int]
_RING = model.MemberSettings(
    (model.PolicySettings.of('peer_list', {'peer_list': ()}),)
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.preview',
        description='Preview the loss of a member against a naive loop.',
    )
    parser.add_argument('--nodes', type=int, default=100_000)
    parser.add_argument('--members', type=int, default=100)
    args = parser.parse_args(argv)
    hosts = [f'host-{number:03}' for number in range(args.members)]
    nodes = [_node(number) for number in range(args.nodes)]
    records = _records(nodes, hosts)
    now = scenario.Situation(
        model.View.of(
            model.Member(host, 'one', float(place), _RING)
            for place, host in enumerate(hosts)
        ),
        [model.Service(host, 1, settings=_RING) for host in hosts],
    )
    return _compare(
        f'{args.nodes} nodes, {args.members} members',
        lambda: _ours(nodes, records, now),
        lambda: _naive(nodes, hosts),
    )


def _compare(
    size: str, ours: Callable[[], _Ways], naive: Callable[[], _Ways]
) -> int:
    times: dict[str, list[float]] = {'ours': [], 'naive': []}
    for _ in range(ROUNDS):
        found, seconds = _timed(ours)
        times['ours'].append(seconds)
        expected, seconds = _timed(naive)
        times['naive'].append(seconds)
        if found != expected:
            print('the preview and the naive loop find different changes')
            return 1
    mine, its = map(statistics.median, times.values())
    code = table.show(
        f'Preview of the loss of one member, {size}, median of {ROUNDS}',
        [
            table.Row('CPU, against two tooz loops', mine, its, 's', RATIO),
            table.Row(
                f'CPU, in place of a peer: {LIMIT:g} s', mine, LIMIT, 's', 1.0
            ),
        ],
    )
    print(
        f'{sum(found.values())} nodes would move, to {len(found)} services; '
        'both find the same'
    )
    return code


def _node(number: int) -> model.Node:
    """Return a node; the uuids are spread as random ones, every third used."""
    return model.Node(
        str(uuid.uuid5(uuid.NAMESPACE_DNS, f'node-{number}')),
        instance_uuid=f'instance-{number}' if number % 3 == 0 else None,
    )


def _records(
    nodes: Sequence[model.Node], hosts: Sequence[str]
) -> dict[str, model.ComputeNode]:
    """Return the records of a ring at rest."""
    ring = hashring.HashRing(hosts)
    return {
        node.uuid: model.ComputeNode(
            node.uuid, _owner(ring, node), node.instance_uuid
        )
        for node in nodes
    }


def _owner(ring: Any, node: model.Node) -> str:
    (owner,) = ring.get_nodes(node.uuid.encode())
    return str(owner)


def _ours(
    nodes: Sequence[model.Node],
    records: Mapping[str, model.ComputeNode],
    now: scenario.Situation,
) -> _Ways:
    found = preview.compare(
        nodes,
        records,
        now.peer_groups(wiring.interpret),
        scenario.without(now, [LOST]).peer_groups(wiring.interpret),
    )
    return {
        (str(flow.before), str(flow.after)): flow.nodes
        for flow in found.flows()
    }


def _naive(nodes: Sequence[model.Node], hosts: Sequence[str]) -> _Ways:
    now = hashring.HashRing(hosts)
    then = hashring.HashRing([host for host in hosts if host != LOST])
    found: collections.Counter[tuple[str, str]] = collections.Counter()
    for node in nodes:
        before, after = _owner(now, node), _owner(then, node)
        if before != after and node.instance_uuid is None:
            found[before, after] += 1
    return dict(found)


def _timed(work: Callable[[], _Ways]) -> tuple[_Ways, float]:
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


if __name__ == '__main__':
    sys.exit(main())
