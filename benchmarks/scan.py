"""Scans of a real Ironic: our client against openstacksdk's.

Both request the same fields of the same nodes of one Ironic, each scan in its
own process, in turn. The figure is the CPU time of the client (user and
system) for the scan alone, after imports, connection and one small request.
Memory is the size of the result of one scan, by tracemalloc, in another
process, so that tracing slows no timed scan. The properties of every node are
different.

    python -m benchmarks.scan [--nodes 10000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import deployment, table
from ironic_ownership.clients.ironic.nodes import FIELDS
from ironic_ownership.contracts import model
from lab import enrolment, ironic

CPU_TARGET = 0.2
BYTES_LIMIT = 1024
SHARDS = 10


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.scan',
        description='Scan a real Ironic with our client and with the SDK.',
    )
    parser.add_argument('--nodes', type=int, default=10_000)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--child', nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.child:
        print(json.dumps(_CHILDREN[args.child[0]](args.child[1])))
        return 0
    with (
        deployment.directory() as directory,
        ironic.Ironic(directory / 'ironic') as server,
    ):
        _fill(server, args.nodes)
        return _compare(server.endpoint, args.nodes, args.rounds)


def _fill(server: ironic.Ironic, count: int) -> None:
    """Enrol nodes in ten shards, each node with its own serial number."""
    nodes = enrolment.Enrolment(server)
    for number in range(SHARDS):
        share = count // SHARDS + (number < count % SHARDS)
        nodes.enrol(
            share,
            shard=f'shard-{number}',
            conductor_group=f'group-{number % 2}',
            instance_share=0.5,
        )
    with server.sql() as database:
        database.execute(
            'UPDATE nodes SET properties = '
            "json_set(properties, '$.serial', uuid)"
        )


def _compare(endpoint: str, count: int, rounds: int) -> int:
    ours, peers = [], []
    for _ in range(rounds):
        ours.append(_run('ours', endpoint))
        peers.append(_run('sdk', endpoint))
    held, peer_held = _run('held', endpoint), _run('sdk-held', endpoint)
    for result in (*ours, *peers, held, peer_held):
        if result['nodes'] != count:
            print(f'{result["nodes"]} nodes were listed, and not {count}')
            return 1
    code = table.show(
        f'Scan of {count} nodes of a real Ironic, against '
        f'openstacksdk baremetal.nodes(), median of {rounds}',
        [
            table.Row(
                'client CPU of a scan',
                _median(ours, 'cpu'),
                _median(peers, 'cpu'),
                's',
                CPU_TARGET,
            ),
            table.Row(
                f'memory a node; in place of a peer: {BYTES_LIMIT} bytes',
                held['bytes'] / count,
                BYTES_LIMIT,
                'B',
                1.0,
            ),
        ],
    )
    print(
        f'Without a target: wall {_median(ours, "wall"):.2f} s, SDK '
        f'{_median(peers, "wall"):.2f} s; memory a node of the SDK '
        f'{peer_held["bytes"] / count:.0f} B'
    )
    print(f'CPU of each scan: {_listed(ours)}; SDK {_listed(peers)}')
    return code


def _median(results: Sequence[dict[str, Any]], name: str) -> float:
    return statistics.median(float(result[name]) for result in results)


def _listed(results: Sequence[dict[str, Any]]) -> str:
    return ' '.join(f'{result["cpu"]:.3f}' for result in results)


def _run(what: str, endpoint: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, '-m', 'benchmarks.scan', '--child', what, endpoint],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _scan(endpoint: str) -> Callable[[], Sequence[Any]]:
    bare_metal = deployment.open_ironic(endpoint)
    bare_metal.check()
    bare_metal.scan(model.Scope(shard='no such shard'))
    return lambda: bare_metal.scan(model.Scope())


def _sdk_scan(endpoint: str) -> Callable[[], Sequence[Any]]:
    import openstack

    connection = openstack.connect(
        load_yaml_config=False,
        load_envvars=False,
        auth_type='none',
        auth={'endpoint': endpoint},
    )
    list(connection.baremetal.nodes(limit=1, paginated=False))
    fields = list(FIELDS)
    return lambda: list(
        connection.baremetal.nodes(details=False, fields=fields)
    )


def _time(scan: Callable[[], Sequence[Any]]) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    nodes = scan()
    return {
        'cpu': time.process_time() - cpu,
        'wall': time.perf_counter() - wall,
        'nodes': len(nodes),
    }


def _hold(scan: Callable[[], Sequence[Any]]) -> dict[str, float]:
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    nodes = scan()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    return {'bytes': after - before, 'nodes': len(nodes)}


_CHILDREN = {
    'ours': lambda url: _time(_scan(url)),
    'sdk': lambda url: _time(_sdk_scan(url)),
    'held': lambda url: _hold(_scan(url)),
    'sdk-held': lambda url: _hold(_sdk_scan(url)),
}

if __name__ == '__main__':
    sys.exit(main())
