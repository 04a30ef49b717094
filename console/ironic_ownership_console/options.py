"""Options: whether something may be done now, and the gates that forbid it.

Each gate is one of the HTTP service, which is asked for proposals here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from ironic_ownership_console import actions, pages
from ironic_ownership_console.proposals import Gate, Subject, subjects
from ironic_ownership_console.service import ServiceError

_WORST = ('failed', 'unknown', 'overridden', 'not_configured', 'passed')


@dataclasses.dataclass(frozen=True)
class Option:
    """Something that may be done now, or not.

    :param action: the name of its form; empty if there is none.
    :param result: in words.
    :param error: of the service, in place of gates.
    :param is_read: whether the gates were read; otherwise they cost too much
        to be read without a request.
    """

    title: str
    action: str
    result: str = ''
    gates: Sequence[Gate] = ()
    error: ServiceError | None = None
    is_read: bool = True

    @property
    def state(self) -> str:
        """Return ``yes``, ``no`` or ``unknown``: whether it may be done."""
        if self.error is not None:
            return 'no' if self.error.status < 500 else 'unknown'
        results = [result for _, result, *_ in self.gates]
        if 'failed' in results:
            return 'no'
        unknown = 'unknown' in results or not self.is_read
        return 'unknown' if unknown else 'yes'


def ask(
    title: str, action: str, method: str, path: str, body: Any = None
) -> Option:
    """Ask the HTTP service for one proposal."""
    answer, error = pages.attempt(method, path, send=pages.call, body=body)
    for one in subjects(answer or {}):
        return Option(title, action, one.result, one.gates)
    return Option(title, action, error=error)


def propose(title: str, action: str, target: str) -> Option:
    """Ask for the proposal of an action, without a reason."""
    found = actions.BY_NAME[action]
    answer, error = pages.attempt(
        found, target, {}, send=actions.send, dry_run=True
    )
    if error is not None:
        return Option(title, action, error=error)
    return Option(title, action, found.note, _summed([*subjects(answer)]))


def _summed(found: Sequence[Subject]) -> tuple[Gate, ...]:
    """Return each gate once: the worst of its results, and how many."""
    by_code: dict[str, list[Gate]] = {}
    for gate in (gate for one in found for gate in one.gates):
        by_code.setdefault(gate[0], []).append(gate)
    return tuple(_worst(same, len(found)) for same in by_code.values())


def _worst(same: Iterable[Gate], number: int) -> Gate:
    ordered = sorted(same, key=lambda gate: _WORST.index(gate[1]))
    code, result, detail, hint = ordered[0]
    if number > 1 and result != 'passed':
        alike = sum(gate[1] == result for gate in ordered)
        detail = f'{alike} of {number} nodes{detail and ": "}{detail}'
    return code, result, detail, hint
