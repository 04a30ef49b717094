"""The chain of an explanation as a graph, in the language of Graphviz."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_ownership.observe import columns

_WIDTH = 40
"""Characters in a line of a box."""

_Row = Mapping[str, Any]


def dot(explanation: _Row) -> str:
    """Return the graph of an explanation, from the inputs to the decision.

    :param explanation: the answer of the operation.
    """
    shown = columns.printable(dict(explanation))
    return '\n'.join(_lines(shown)) + '\n'


def _lines(shown: _Row) -> Iterator[str]:
    yield f'digraph {_quoted(shown["name"] or shown["uuid"])} {{'
    yield '  rankdir=LR; node [shape=box];'
    yield _box('inputs', 'Inputs', _pairs(shown['inputs']))
    for number, one in enumerate(shown['members']):
        name, style = f'member{number}', '' if one['considered'] else 'dashed'
        yield _box(name, one['host'], _member(one), style)
        yield f'  inputs -> {name}{_styled(style)};'
        if one['considered']:
            yield f'  {name} -> want;'
    yield _box('want', 'Policies want', _want(shown))
    yield _box('record', 'On record', _record(shown['record']))
    yield _box(
        'decision',
        f'Decision: {shown["decided_owner"] or "no service"}',
        [shown['reason'], shown['rule']],
        'bold',
    )
    yield '  want -> decision; record -> decision;'
    yield '}'


def _member(one: _Row) -> list[str]:
    policies = [f'{p["policy"]}: {p["says"]}' for p in one['policies']]
    return [one['why'], *policies]


def _want(shown: _Row) -> list[str]:
    want = shown['policies_want']
    found = ['nothing']
    if want is not None:
        found = [want['service'] or 'no service', want['reason']]
        found += [want['note']] if want['note'] else []
    if shown['assigner']:
        peers = columns.readable(shown['live_peers'])
        found.append(f'{shown["assigner"]} over {peers}')
    return found


def _record(record: _Row | None) -> list[str]:
    if record is None:
        return ['nothing']
    alive = '' if record['service_alive'] else ', not alive'
    owner = f'{record["service"]}{alive}' if record['service'] else ''
    return [owner or 'no service', record['reason'], record['updated_at']]


def _pairs(inputs: _Row) -> list[str]:
    return [
        f'{key}: {repr(cell) if cell == "" else columns.readable(cell)}'
        for key, cell in inputs.items()
    ]


def _box(name: str, title: str, texts: Sequence[str], style: str = '') -> str:
    lines = [
        line
        for text in (title, *texts)
        for line in textwrap.wrap(text, _WIDTH, break_on_hyphens=False)
    ]
    # \l ends a line that is aligned to the left.
    label = ''.join(f'{_escaped(line)}\\l' for line in lines)
    return f'  {name} [label="{label}"{f", style={style}" if style else ""}];'


def _styled(style: str) -> str:
    return f' [style={style}]' if style else ''


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace('\\', '\\\\').replace('"', '\\"')
