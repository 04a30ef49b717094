"""Columns of a preview: flows, single nodes, and the totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ironic_ownership.engine.decision.preview import Flow, Preview, Transfer
from ironic_ownership.observe import columns

_Flow = columns.Column[Flow]
_Change = columns.Column[tuple[str, Transfer]]

FLOW = (
    _Flow('from_service', lambda f: f.before),
    _Flow('to_service', lambda f: f.after),
    _Flow('nodes', lambda f: f.nodes),
    _Flow('instances', lambda f: f.instances),
    _Flow('share', lambda f: columns.rounded(f.share)),
)
"""Nodes that would move, by service before and after."""

NODE = (
    _Change('uuid', lambda c: c[1].node.uuid),
    _Change('name', lambda c: c[1].node.name),
    _Change('change', lambda c: c[0]),
    _Change('from_service', lambda c: c[1].before),
    _Change('to_service', lambda c: c[1].after),
    _Change('instance', lambda c: c[1].deployed),
    _Change('shard', lambda c: c[1].node.shard),
    _Change('conductor_group', lambda c: c[1].node.conductor_group),
)


def changes(preview: Preview) -> Iterator[tuple[str, Transfer]]:
    """Yield every affected node, with the kind of change."""
    for kind, transfers in (
        ('moves', preview.transfers),
        ('stranded', preview.stranded),
        ('unserved', preview.unserved),
    ):
        for transfer in transfers:
            yield kind, transfer


def whole(preview: Preview, *, nodes: bool) -> dict[str, columns.Cell]:
    """Return the whole preview as one object.

    :param nodes: whether to name each node.
    """
    row: dict[str, columns.Cell] = {
        'nodes': preview.compared,
        'moves': len(preview.transfers),
        'share': columns.rounded(preview.share),
        'instances': sum(t.deployed for t in preview.transfers),
        'stranded': len(preview.stranded),
        'unserved': len(preview.unserved),
        'flows': [columns.cells(FLOW, flow) for flow in preview.flows()],
    }
    if nodes:
        row['changes'] = [columns.cells(NODE, c) for c in changes(preview)]
    return row


def summary(shown: Mapping[str, Any]) -> str:
    """Return the sums of :func:`whole` in a few lines."""
    nodes, moves = shown['nodes'], shown['moves']
    share = moves / nodes if nodes else 0.0
    first = f'{moves} of {nodes} nodes would move ({share:.1%}), '
    lines = [f'{first}{shown["instances"]} of them with an instance']
    if shown['stranded']:
        lines.append(
            f'{shown["stranded"]} nodes with an instance would be stranded: '
            'their owner would be gone, and only an operator could move them'
        )
    if shown['unserved']:
        lines.append(
            f'{shown["unserved"]} nodes without an instance would stay with '
            'an owner that would be gone'
        )
    return '\n'.join(lines)
