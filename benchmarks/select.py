"""Selection among many nodes: the engine against a loop over the conditions.

The peer evaluates node by node, like a first naive program. The figure is the
CPU time of a cold selection, without a cache from an earlier request. The
first request of a process, which imports the parser of the operators, is not
measured.

The nodes are those of a scan, with equal properties shared. "All fit" is the
slowest request, because no condition removes a node before the next one. Nodes
with different properties are the slowest nodes.

    python -m benchmarks.select [--nodes 100000] [--rounds 9]
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import statistics
import sys
import uuid as uuid_
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import table
from ironic_ownership.contracts import model
from ironic_ownership.contracts.reservations import Request
from ironic_ownership.engine import availability
from ironic_ownership.engine.reservations import requirements, selection

BUDGET = 0.1
"""Seconds of CPU time for a selection among 100,000 nodes."""

CLASSES = 10
_PROPERTIES = {
    'cpu_arch': 'x86_64',
    'cpus': '64',
    'memory_mb': '262144',
    'local_gb': '960',
    'capabilities': 'boot_mode:uefi,gpus:4,secure_boot:true',
}
_TRAITS = ('CUSTOM_GPU', 'HW_CPU_X86_VMX')
_SIZES = {'memory_mb': 131072, 'vcpus': 32, 'root_gb': 100, 'swap': 1024}
_FLAVOR: Mapping[str, str] = {
    'trait:CUSTOM_GPU': 'required',
    'capabilities:boot_mode': 's== uefi',
    'capabilities:gpus': '>= 2',
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.select',
        description='Choose among nodes with the engine and with a loop.',
    )
    parser.add_argument('--nodes', type=int, default=100_000)
    parser.add_argument('--rounds', type=int, default=9)
    args = parser.parse_args(argv)
    rows = measure(args.nodes, args.rounds)
    if rows is None:
        print('select: the two do not remove the same nodes')
        return 1
    return table.show(
        f'select: CPU time of one choice, median of {args.rounds} rounds in '
        'turn',
        rows,
    )


def measure(count: int, rounds: int) -> list[table.Row] | None:
    """Measure every case on both sides.

    :returns: ``None`` if the two do not agree.
    """
    shared, own = _nodes(count, own=False), _nodes(count, own=True)
    busy = [_in_maintenance(node) for node in shared]
    flavor = {'extra_specs': _FLAVOR, **_SIZES}
    named = {**flavor, 'resource_class': 'class-3'}
    rows = []
    for what, nodes, wish in (
        ('a flavor of one class of ten', shared, named),
        ('a flavor, all fit', shared, flavor),
        ('a flavor, all in maintenance', busy, flavor),
        ('one class of ten, properties of their own', own, named),
        ('sizes alone, properties of their own', own, _SIZES),
        ('a flavor, all fit, properties of their own', own, flavor),
    ):
        request = _request(wish)
        ours, theirs = [], []
        _ours(request, nodes[:1])
        for _ in range(rounds):
            seconds, found = table.timed(
                functools.partial(_ours, request, nodes)
            )
            ours.append(seconds)
            seconds, plain = table.timed(
                functools.partial(_loop, request, nodes)
            )
            theirs.append(seconds)
            if found != plain:
                return None
        ours_, theirs_ = statistics.median(ours), statistics.median(theirs)
        rows += [
            table.Row(f'{what}: against {BUDGET:g} s', ours_, BUDGET, 's', 1),
            table.Row(f'{what}: against a loop', ours_, theirs_, 's', 0.8),
        ]
    return rows


def _nodes(count: int, *, own: bool) -> list[model.Node]:
    return [
        model.Node(
            str(uuid_.uuid4()),
            name=f'node-{number}',
            driver='redfish',
            provision_state='available',
            power_state='power off',
            resource_class=f'class-{number % CLASSES}',
            properties=(
                {**_PROPERTIES, 'serial': str(number)} if own else _PROPERTIES
            ),
            traits=_TRAITS,
        )
        for number in range(count)
    ]


def _in_maintenance(node: model.Node) -> model.Node:
    return dataclasses.replace(node, maintenance=True)


def _request(wish: Mapping[str, Any]) -> Request:
    return Request.from_mapping(
        {'instance_uuid': str(uuid_.uuid4()), 'service': 'compute-1', **wish}
    )


_FLEET = availability.Conductors.of(
    [model.Conductor('conductor-1', drivers=frozenset(('redfish',)))]
)


def _unavailable_reason(node: model.Node) -> str | None:
    return availability.evaluate(node, _FLEET).code


def _ours(
    request: Request, nodes: Sequence[model.Node]
) -> tuple[int, dict[str, int]]:
    choice = selection.choose(request, nodes, _unavailable_reason)
    return choice.fitting, dict(choice.removed)


def _loop(
    request: Request, nodes: Sequence[model.Node]
) -> tuple[int, dict[str, int]]:
    specs = request.specs()
    traits = {*request.traits, *specs.traits}
    required = [*requirements.of(request, specs)]
    removed: dict[str, int] = {}
    fitting = 0
    for node in nodes:
        missed = _missed(node, request.resource_class, traits, required)
        if missed is None:
            fitting += 1
        else:
            removed[missed] = removed.get(missed, 0) + 1
    return fitting, removed


def _missed(
    node: model.Node,
    resource_class: str | None,
    traits: set[str],
    required: Sequence[requirements.Requirement],
) -> str | None:
    if node.instance_uuid is not None:
        return 'instance'
    if resource_class not in (None, node.resource_class):
        return 'resource_class'
    for trait in traits:
        if trait not in node.traits:
            return f'trait:{trait}'
    for requirement in required:
        text = requirement.read(node.properties)
        if text is None or not requirement.fits(text):
            return requirement.name
    return _unavailable_reason(node)


if __name__ == '__main__':
    sys.exit(main())
