"""Things that an answer of the HTTP service proposes, with their gates."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_ownership_console.words import time_of, words

Gate = tuple[str, str, str, str]
"""Code, result, what was seen, and the hint."""


@dataclasses.dataclass(frozen=True)
class Subject:
    """One thing of a proposal, with its gates.

    :param result: in a word or a sentence.
    :param changes: whether it is not so already.
    """

    name: str
    result: str
    gates: tuple[Gate, ...] = ()
    changes: bool = True

    @property
    def is_refused(self) -> bool:
        """True if a gate failed."""
        return any(
            result in ('failed', 'unknown') for _, result, *_ in self.gates
        )


def _gate(gate: Mapping[str, Any]) -> Gate:
    result = gate.get('result') or gate.get('verdict')
    if result is None:
        result = 'passed' if gate.get('passed') else 'failed'
    detail = gate.get('detail') or gate.get('evidence') or ''
    if not detail and gate.get('left'):
        detail = f'{gate["left"]} left'
    return gate['gate'], result, detail, gate.get('hint') or ''


def subjects(answer: Mapping[str, Any]) -> Iterator[Subject]:
    """Yield what an answer proposes, or has done."""
    for move in answer.get('moves', ()):
        yield from subjects(move)
    shared = [*answer.get('gates', ())]
    for one in (*answer.get('nodes', ()), *answer.get('unplaceable', ())):
        own = one.get('gates')
        if not isinstance(own, list):
            own = [gate for gate in shared if gate.get('uuid') == one['uuid']]
            shared = [gate for gate in shared if gate not in own]
        hint = one.get('hint') or ''
        detail = one.get('evidence') or one.get('detail') or ''
        refused = ['refused'] if _state(one) == 'refused' else []
        yield Subject(
            one.get('name') or one['uuid'],
            _result(one),
            tuple(map(_gate, own))
            or tuple(
                (gate, 'failed', detail, hint)
                for gate in one.get('failed_gates') or refused
            ),
            _state(one) != 'unchanged',
        )
    if shared:
        name = answer.get('host') or 'Gates'
        gates = tuple(map(_gate, shared))
        yield Subject(name, 'all gates have to pass', gates)
    if 'changed' in answer:
        changed = answer['changed']
        text = f'changes: {words(changed)}'
        yield Subject(answer['host'], text, changes=bool(changed))
    for pause in answer.get('pauses', [answer] if 'ends_at' in answer else []):
        yield Subject('Pause', f'until {time_of(pause["ends_at"])} UTC')


def _state(node: Mapping[str, Any]) -> str:
    return str(node.get('state') or node.get('result') or '')


def _result(node: Mapping[str, Any]) -> str:
    text = _state(node)
    source = node.get('source') or node.get('service') or 'no service'
    target = node.get('destination') or node.get('next_service')
    way = f': {source} → {target}' if target else ''
    return f'{text.replace("_", " ")}{way}'
